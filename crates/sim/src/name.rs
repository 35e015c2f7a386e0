//! Names and addresses of hosts, computed from the rank and back.
//!
//! The rank is written into the site's name in syllables, scrambled so that
//! neighbours do not look alike. Of ten hosts, three share a site, two share
//! another, and five have one of their own.

use std::net::Ipv4Addr;

use crate::hash::scramble;

/// 127.1.0.0 to 127.254.255.255 without `.0` and `.255`.
pub const MAX_HOSTS: u32 = 254 * 256 * 254;

const CONSONANTS: &[u8; 16] = b"bcdfghklmnprstvz";
const VOWELS: &[u8; 5] = b"aeiou";
const SYLLABLES: u64 = 80;
/// Sites up to the first number have three syllables, the others four.
const THREE: u64 = SYLLABLES * SYLLABLES * SYLLABLES;
const FOUR: u64 = THREE * SYLLABLES;
/// No common divisor with 80, so multiplying by it loses nothing; `UNDO_*`
/// are its inverses.
const SPREAD: u64 = 177_147;
const UNDO_THREE: u64 = inverse(SPREAD, THREE);
const UNDO_FOUR: u64 = inverse(SPREAD, FOUR);

/// Inverse of `a` modulo `m`, which must have no common divisor.
const fn inverse(a: u64, m: u64) -> u64 {
    let (mut t, mut next_t) = (0i64, 1i64);
    let (mut r, mut next_r) = (m as i64, (a % m) as i64);
    while next_r != 0 {
        let quotient = r / next_r;
        (t, next_t) = (next_t, t - quotient * next_t);
        (r, next_r) = (next_r, r - quotient * next_r);
    }
    t.rem_euclid(m as i64) as u64
}

/// Site number and first label of the host at a rank.
fn place(rank: u32) -> (u64, &'static str) {
    let block = u64::from(rank / 10) * 7;
    match rank % 10 {
        0 => (block, "www."),
        1 => (block, "blog."),
        2 => (block, "shop."),
        3 => (block + 1, "www."),
        4 => (block + 1, "news."),
        5 => (block + 2, "www."),
        6 => (block + 3, ""),
        7 => (block + 4, "www."),
        8 => (block + 5, ""),
        _ => (block + 6, ""),
    }
}

/// Write the site's own label.
pub fn write_site(rank: u32, seed: u64, out: &mut Vec<u8>) {
    let site = place(rank).0;
    let first = scramble(!seed);
    let (mut number, syllables) = if site < THREE {
        ((site * SPREAD + first % THREE) % THREE, 3)
    } else {
        (((site - THREE) * SPREAD + first % FOUR) % FOUR, 4)
    };
    for _ in 0..syllables {
        let syllable = (number % SYLLABLES) as usize;
        out.push(CONSONANTS[syllable / 5]);
        out.push(VOWELS[syllable % 5]);
        number /= SYLLABLES;
    }
}

pub fn write_name(rank: u32, seed: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(place(rank).1.as_bytes());
    write_site(rank, seed, out);
    out.extend_from_slice(b".test");
}

/// The rank of a host by its name, in any case; nothing is looked up.
pub fn rank_of(name: &[u8], seed: u64, hosts: u32) -> Option<u32> {
    let stem = name.len().checked_sub(5)?;
    if !name[stem..].eq_ignore_ascii_case(b".test") {
        return None;
    }
    let stem = &name[..stem];
    let site_at = stem.iter().rposition(|&b| b == b'.').map_or(0, |at| at + 1);
    let site = site_number(&stem[site_at..], seed)?;
    let block = u32::try_from(site / 7).ok()?.checked_mul(10)?;
    let ranks = match site % 7 {
        0 => 0..3,
        1 => 3..5,
        single => (single as u32 + 3)..(single as u32 + 4),
    };
    ranks
        .map(|within| block.saturating_add(within))
        .find(|&rank| {
            rank < hosts && stem[..site_at].eq_ignore_ascii_case(place(rank).1.as_bytes())
        })
}

fn site_number(label: &[u8], seed: u64) -> Option<u64> {
    let mut number = 0;
    for pair in label.chunks(2).rev() {
        let &[consonant, vowel] = pair else {
            return None;
        };
        let consonant = CONSONANTS
            .iter()
            .position(|b| b.eq_ignore_ascii_case(&consonant))?;
        let vowel = VOWELS.iter().position(|b| b.eq_ignore_ascii_case(&vowel))?;
        number = number * SYLLABLES + (consonant * 5 + vowel) as u64;
        if number >= FOUR {
            return None;
        }
    }
    let first = scramble(!seed);
    let undo = |modulus: u64, inverse: u64| {
        (number + modulus - first % modulus) % modulus * inverse % modulus
    };
    match label.len() {
        6 => Some(undo(THREE, UNDO_THREE)),
        8 => Some(THREE + undo(FOUR, UNDO_FOUR)),
        _ => None,
    }
}

/// One host in twenty lives at the address of another.
pub fn address(rank: u32) -> Ipv4Addr {
    let own = if rank % 20 == 13 { rank - 4 } else { rank };
    let (third, fourth) = (own / 254, own % 254 + 1);
    Ipv4Addr::new(
        127,
        (third / 256 + 1) as u8,
        (third % 256) as u8,
        fourth as u8,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_back_to_its_rank() {
        for seed in [0, 7, u64::MAX] {
            for rank in (0..5_000).chain((700_000..760_000).step_by(37)) {
                let mut name = Vec::new();
                write_name(rank, seed, &mut name);
                assert_eq!(rank_of(&name, seed, MAX_HOSTS), Some(rank));
                name.make_ascii_uppercase();
                assert_eq!(rank_of(&name, seed, MAX_HOSTS), Some(rank));
                assert_eq!(rank_of(&name, seed, rank), None);
            }
        }
    }

    #[test]
    fn strange_names_have_no_rank() {
        for name in [
            "",
            ".test",
            "test",
            "a.test",
            "kelora.example",
            "x.www.bababa.test",
        ] {
            assert_eq!(rank_of(name.as_bytes(), 1, MAX_HOSTS), None, "{name}");
        }
        assert_eq!(rank_of(&[b'z'; 4096], 1, MAX_HOSTS), None);
    }

    #[test]
    fn every_host_has_a_loopback_address_and_few_share_one() {
        let all: std::collections::HashSet<_> = (0..10_000).map(address).collect();
        assert_eq!(all.len(), 9_500);
        assert!(all.iter().all(|address| address.is_loopback()));
        assert_eq!(address(MAX_HOSTS - 1).octets(), [127, 254, 255, 254]);
    }
}
