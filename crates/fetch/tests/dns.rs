//! Names, against a name server of a few lines.

mod support;

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use rhumb_fetch::{DnsConfig, Failure, Resolver};
use support::run;
use tokio::net::UdpSocket;

const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);
const TYPE_A: [u8; 2] = [0, 1];

#[derive(Clone, Copy)]
enum Answer {
    /// One address for every name.
    Address,
    /// This many addresses.
    Many(u16),
    NoSuchName,
    Nothing,
    ServerFailure,
    Silence,
}

struct NameServer {
    address: SocketAddr,
    questions: Rc<Cell<usize>>,
}

impl NameServer {
    async fn start(answer: Answer) -> NameServer {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = socket.local_addr().unwrap();
        let questions = Rc::new(Cell::new(0));
        let count = questions.clone();
        tokio::task::spawn_local(async move {
            let mut packet = [0; 4096];
            while let Ok((len, from)) = socket.recv_from(&mut packet).await {
                count.set(count.get() + 1);
                if let Some(reply) = reply(&packet[..len], answer) {
                    let _ = socket.send_to(&reply, from).await;
                }
            }
        });
        NameServer { address, questions }
    }

    fn config(&self) -> DnsConfig {
        DnsConfig {
            servers: vec![self.address],
            timeout: Duration::from_secs(20),
            attempts: 1,
            ..DnsConfig::default()
        }
    }
}

/// The question back, with the answer behind it.
fn reply(query: &[u8], answer: Answer) -> Option<Vec<u8>> {
    let name_len = query[12..].iter().position(|byte| *byte == 0)? + 1;
    let question = &query[12..12 + name_len + 4];
    let for_v4 = question[name_len..name_len + 2] == TYPE_A;
    let (code, count) = match answer {
        Answer::Address => (0, u16::from(for_v4)),
        Answer::Many(count) => (0, if for_v4 { count } else { 0 }),
        Answer::NoSuchName => (3, 0),
        Answer::Nothing => (0, 0),
        Answer::ServerFailure => (2, 0),
        Answer::Silence => return None,
    };
    let mut packet = query[..2].to_vec();
    packet.extend([0x81, 0x80 | code, 0, 1]);
    packet.extend(count.to_be_bytes());
    packet.extend([0, u8::from(count == 0), 0, 0]);
    packet.extend(question);
    if count == 0 {
        // The zone's SOA record says that "no" holds for an hour.
        packet.extend([0xc0, 12, 0, 6, 0, 1, 0, 0, 14, 16, 0, 22, 0, 0]);
        packet.extend([0, 0, 14, 16].repeat(5));
    }
    for number in 0..count {
        // A pointer to the name, type A, class IN, an hour, four bytes.
        packet.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4]);
        let [a, b, c, d] = ADDRESS.octets();
        packet.extend([a, b, c, d.wrapping_add(number as u8)]);
    }
    Some(packet)
}

fn ask(answer: Answer, name: &str) -> Result<Vec<IpAddr>, Failure> {
    run(async {
        let server = NameServer::start(answer).await;
        let resolver = Resolver::new(&server.config()).unwrap();
        resolver.resolve(name).await.map(|found| found.to_vec())
    })
}

#[test]
fn a_name_has_an_address() {
    assert_eq!(ask(Answer::Address, "example.org").unwrap(), [ADDRESS]);
    assert_eq!(ask(Answer::Address, "a_b.example.org.").unwrap(), [ADDRESS]);
}

#[test]
fn the_same_name_is_asked_for_once() {
    run(async {
        let server = NameServer::start(Answer::Address).await;
        let resolver = Resolver::new(&server.config()).unwrap();
        for name in ["example.org", "EXAMPLE.org", "example.org."] {
            assert_eq!(&resolver.resolve(name).await.unwrap()[..], [ADDRESS]);
        }
        // Once for IPv4, once for IPv6.
        assert_eq!(server.questions.get(), 2);
    });
}

#[test]
fn names_that_are_not_there() {
    for answer in [Answer::NoSuchName, Answer::Nothing] {
        let failure = ask(answer, "example.org").unwrap_err();
        assert_eq!(failure, Failure::NoSuchName);
    }
    let too_long = format!("{}.org", "x".repeat(80));
    for name in [&too_long, "", "a..b"] {
        assert_eq!(ask(Answer::Address, name).unwrap_err(), Failure::NoSuchName);
    }
}

#[test]
fn name_servers_in_trouble() {
    let failure = ask(Answer::ServerFailure, "example.org").unwrap_err();
    assert_eq!(failure.code(), "dns", "{failure:?}");
    assert!(failure.is_transient());
}

#[test]
fn silence_is_a_time_out() {
    run(async {
        let server = NameServer::start(Answer::Silence).await;
        let mut config = server.config();
        config.timeout = Duration::from_millis(50);
        let resolver = Resolver::new(&config).unwrap();
        let failure = resolver.resolve("example.org").await.unwrap_err();
        assert_eq!(failure, Failure::DnsTimeout);
    });
}

#[test]
fn a_name_with_too_many_addresses() {
    assert_eq!(ask(Answer::Many(60), "example.org").unwrap().len(), 16);
}

#[test]
fn what_is_known_is_not_asked() {
    run(async {
        let server = NameServer::start(Answer::Address).await;
        let mut config = server.config();
        let other = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        config.overrides = vec![("Known.example".into(), other)];
        let resolver = Resolver::new(&config).unwrap();
        let v4 = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let v6 = IpAddr::V6(Ipv6Addr::LOCALHOST);
        for (name, expected) in [
            ("known.example", vec![other]),
            ("127.0.0.1", vec![v4]),
            ("[::1]", vec![v6]),
            ("::1", vec![v6]),
            ("localhost", vec![v4, v6]),
            ("a.localhost.", vec![v4, v6]),
        ] {
            assert_eq!(
                resolver.resolve(name).await.unwrap()[..],
                expected,
                "{name}"
            );
        }
        assert_eq!(server.questions.get(), 0);
        assert_eq!(
            &resolver.resolve("other.example").await.unwrap()[..],
            [ADDRESS]
        );
    });
}

#[test]
fn one_answer_for_every_name() {
    run(async {
        let server = NameServer::start(Answer::Silence).await;
        let mut config = server.config();
        let all = IpAddr::V4(Ipv4Addr::LOCALHOST);
        config.overrides = vec![("*".into(), all)];
        let resolver = Resolver::new(&config).unwrap();
        assert_eq!(&resolver.resolve("any.example").await.unwrap()[..], [all]);
    });
}

#[test]
fn more_questions_than_may_be_under_way_wait_their_turn() {
    run(async {
        let server = NameServer::start(Answer::Address).await;
        let mut config = server.config();
        config.max_active = 4;
        let resolver = Rc::new(Resolver::new(&config).unwrap());
        let asking: Vec<_> = (0..100)
            .map(|number| {
                let resolver = resolver.clone();
                tokio::task::spawn_local(async move {
                    resolver.resolve(&format!("host{number}.example")).await
                })
            })
            .collect();
        for answer in asking {
            assert_eq!(&answer.await.unwrap().unwrap()[..], [ADDRESS]);
        }
    });
}
