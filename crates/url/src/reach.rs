//! Which addresses and names belong to the public Internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to a machine somewhere on the Internet: not
/// loopback, private, link-local, multicast, reserved, or one at which a
/// machine finds what it should not tell strangers.
pub fn is_public_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    // The address of a cloud's host agent, though among the public ones.
    const HOST_AGENT: [u8; 4] = [168, 63, 129, 16];
    match address.octets() {
        HOST_AGENT => false,
        // "This" network, private, loopback, link-local.
        [0 | 10 | 127, ..] | [169, 254, ..] | [192, 168, ..] => false,
        [172, 16..32, ..] => false,
        // Shared by the customers of a carrier.
        [100, 64..128, ..] => false,
        // Protocol assignments, documentation, old relays.
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 51, 100, _] | [203, 0, 113, _] => false,
        // Measurements between networks.
        [198, 18 | 19, ..] => false,
        // Multicast, reserved, broadcast.
        [224..=255, ..] => false,
        _ => true,
    }
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // IPv4 in IPv6: what counts is where it leads.
        [0, 0, 0, 0, 0, 0xffff, high, low] => embedded(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        [0x2002, high, low, ..] => embedded(high, low),
        // Protocol assignments with tunnels among them, documentation.
        [0x2001, 0..0x200, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..0x1000, ..] => false,
        // All that was ever given to networks.
        [0x2000..0x4000, ..] => true,
        _ => false,
    }
}

/// Last labels of names that no public name server answers for.
const LOCAL_SUFFIXES: [&str; 10] = [
    "localhost",
    "test",
    "example",
    "invalid",
    "local",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
];

/// Whether a URL's name may mean a machine on the public Internet: a public
/// address, or a name that everybody can ask for.
pub fn is_public_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse() {
        return is_public_address(address);
    }
    match name.rsplit_once('.') {
        // A name without a dot is known to its own network alone.
        None => false,
        Some((_, last)) => !LOCAL_SUFFIXES.contains(&last) && !name.ends_with(".home.arpa"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(addresses: &[&str], public: bool) {
        for text in addresses {
            let address = text.parse().expect("an address");
            assert_eq!(is_public_address(address), public, "{text}");
        }
    }

    #[test]
    fn special_addresses_are_not_public() {
        check(
            &[
                "0.0.0.0",
                "10.1.2.3",
                "100.64.0.1",
                "100.100.100.200",
                "127.0.0.1",
                "127.255.255.254",
                "168.63.129.16",
                "169.254.169.254",
                "172.16.0.1",
                "172.31.255.255",
                "192.0.0.192",
                "192.0.2.1",
                "192.88.99.1",
                "192.168.0.1",
                "198.18.0.1",
                "198.19.255.255",
                "198.51.100.7",
                "203.0.113.9",
                "224.0.0.1",
                "239.255.255.250",
                "240.0.0.1",
                "255.255.255.255",
            ],
            false,
        );
        check(
            &[
                "::",
                "::1",
                "::127.0.0.1",
                "::ffff:127.0.0.1",
                "::ffff:10.0.0.1",
                "64:ff9b::7f00:1",
                "64:ff9b:1::1",
                "100::1",
                "2001::1",
                "2001:10::1",
                "2001:db8::1",
                "2002:7f00:1::",
                "2002:a00:1::1",
                "3fff::1",
                "5f00::1",
                "fc00::1",
                "fd00:ec2::254",
                "fe80::1",
                "fec0::1",
                "ff02::1",
            ],
            false,
        );
    }

    #[test]
    fn the_others_are() {
        check(
            &[
                "1.1.1.1",
                "9.9.9.9",
                "100.63.255.255",
                "100.128.0.1",
                "126.255.255.255",
                "128.0.0.1",
                "172.15.0.1",
                "172.32.0.1",
                "192.1.0.1",
                "198.17.0.1",
                "198.20.0.1",
                "223.255.255.255",
                "2001:4860:4860::8888",
                "2606:4700::1111",
                "2a00::1",
                "::ffff:1.1.1.1",
                "64:ff9b::101:101",
                "2002:101:101::1",
            ],
            true,
        );
    }

    #[test]
    fn names_tell_by_their_last_label() {
        for name in [
            "localhost",
            "wiki",
            "a.test",
            "nas.local",
            "git.corp.internal",
            "[::1]",
            "10.0.0.1",
            "x.home.arpa",
            "www.host.test.",
        ] {
            assert!(!is_public_name(name), "{name}");
        }
        for name in [
            "example.org",
            "a.b.co.uk",
            "test.de",
            "1.1.1.1",
            "[2606:4700::1111]",
        ] {
            assert!(is_public_name(name), "{name}");
        }
    }
}
