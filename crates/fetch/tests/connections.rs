//! Keep-alive, closed connections and time-outs.

mod support;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use rhumb_fetch::{Failure, FetchConfig, Fetcher, Truncation};
use rhumb_url::Url;
use support::{Act, LOOPBACK, Server, config, connect, run, say};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Short, and only ever judged by which one fires.
const SHORT: Duration = Duration::from_millis(50);

#[test]
fn a_connection_serves_many_requests() {
    run(async {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
        let script = [OK, chunked, OK]
            .into_iter()
            .flat_map(|text| [Act::Hear, say(text)]);
        let server = Server::start(vec![script.collect()]).await;
        let url = server.url("/");
        let mut connection = connect(config(), &url).await.unwrap();
        for response in [OK, chunked, OK] {
            assert!(connection.reusable());
            let document = connection.get(&url, None).await.unwrap();
            assert_eq!(document.wire, response);
            assert_eq!(document.body, "ok");
            assert_eq!(document.remote, server.address);
            assert!(document.request.starts_with(b"GET / HTTP/1.1\r\n"));
            assert!(document.request.ends_with(b"\r\n\r\n"));
        }
        assert_eq!(connection.remote(), server.address);
        assert_eq!(server.heard().len(), 3);
    });
}

#[test]
fn an_idle_connection_that_the_server_closed_is_told() {
    run(async {
        let once = vec![Act::Hear, say(OK)];
        let server = Server::start(vec![once.clone(), once]).await;
        let url = server.url("/");
        let fetcher = Fetcher::new(config()).unwrap();
        let mut connection = fetcher.connect(&url, &LOOPBACK).await.unwrap();
        connection.get(&url, None).await.unwrap();
        let failure = connection.get(&url, None).await.unwrap_err();
        assert_eq!(failure, Failure::Closed);
        assert!(failure.is_transient());
        assert!(!connection.reusable());
        let mut fresh = fetcher.connect(&url, &LOOPBACK).await.unwrap();
        assert_eq!(fresh.get(&url, None).await.unwrap().body, "ok");
    });
}

#[test]
fn a_request_that_nobody_answers_is_closed() {
    for end in [vec![Act::Hear], vec![], vec![Act::Hear, Act::Reset]] {
        run(async {
            let server = Server::start(vec![end]).await;
            let url = server.url("/");
            let mut connection = connect(config(), &url).await.unwrap();
            let failure = connection.get(&url, None).await.unwrap_err();
            assert_eq!(failure, Failure::Closed);
        });
    }
}

#[test]
fn what_asks_to_be_closed_is_not_reused() {
    let close = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    let stray = format!("{OK}stray");
    let until_close = "HTTP/1.1 200 OK\r\n\r\nok";
    for response in [close, &stray, until_close] {
        run(async {
            let server = Server::saying(response).await;
            let url = server.url("/");
            let mut connection = connect(config(), &url).await.unwrap();
            assert_eq!(connection.get(&url, None).await.unwrap().body, "ok");
            assert!(!connection.reusable(), "{response}");
        });
    }
}

#[test]
fn a_connection_leads_to_one_origin() {
    run(async {
        let server = Server::start(vec![vec![Act::Hang]]).await;
        let mut connection = connect(config(), &server.url("/")).await.unwrap();
        let other = Url::parse("http://example.org/").unwrap();
        let failure = connection.get(&other, None).await.unwrap_err();
        assert_eq!(failure.code(), "unaskable");
        assert!(connection.reusable());
    });
}

#[test]
fn refused_and_unreachable_addresses() {
    run(async {
        // Port 1 of loopback: nobody listens there.
        let url = Url::parse("http://127.0.0.1:1/").unwrap();
        let fetcher = Fetcher::new(config()).unwrap();
        let failure = fetcher.connect(&url, &LOOPBACK).await.err();
        assert_eq!(failure, Some(Failure::Refused));
        let failure = fetcher.connect(&url, &[]).await.err();
        assert_eq!(failure.map(|failure| failure.code()), Some("connect"));
    });
}

#[test]
fn the_next_address_is_tried() {
    run(async {
        let server = Server::saying(OK).await;
        let url = server.url("/");
        let fetcher = Fetcher::new(config()).unwrap();
        // The server listens on 127.0.0.1 alone.
        let addresses: [IpAddr; 2] = [Ipv4Addr::new(127, 0, 0, 2).into(), LOOPBACK[0]];
        let mut connection = fetcher.connect(&url, &addresses).await.unwrap();
        assert_eq!(connection.remote(), server.address);
        assert_eq!(connection.get(&url, None).await.unwrap().body, "ok");
    });
}

async fn slow(config: FetchConfig, script: Vec<Act>) -> Result<rhumb_fetch::Document, Failure> {
    let server = Server::start(vec![script]).await;
    let url = server.url("/");
    let mut connection = connect(config, &url).await?;
    let result = connection.get(&url, None).await;
    assert!(!connection.reusable());
    result
}

#[test]
fn a_silent_server_and_one_that_stops_in_the_header() {
    for said in ["", "HTTP/1.1 200 OK\r\nContent-"] {
        let config = FetchConfig {
            first_byte_timeout: SHORT,
            ..config()
        };
        let result = run(slow(config, vec![Act::Hear, say(said), Act::Hang]));
        assert_eq!(result.unwrap_err(), Failure::FirstByteTimeout);
    }
}

#[test]
fn total_time_also_bounds_the_header() {
    let config = FetchConfig {
        total_timeout: SHORT,
        ..config()
    };
    let result = run(slow(config, vec![Act::Hear, Act::Hang]));
    assert_eq!(result.unwrap_err(), Failure::FirstByteTimeout);
}

#[test]
fn a_body_that_goes_silent_keeps_its_prefix() {
    let heads = [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello",
        "HTTP/1.1 200 OK\r\n\r\nhello",
    ];
    for said in heads {
        let config = FetchConfig {
            idle_timeout: SHORT,
            ..config()
        };
        let document = run(slow(config, vec![Act::Hear, say(said), Act::Hang])).unwrap();
        assert_eq!(document.truncated, Some(Truncation::Time), "{said}");
        assert_eq!(document.body, "hello");
        assert_eq!(document.wire, said);
    }
}

#[test]
fn a_header_may_take_longer_than_a_silence_in_a_body() {
    let config = FetchConfig {
        idle_timeout: SHORT,
        first_byte_timeout: SHORT * 4,
        ..config()
    };
    let result = run(slow(config, vec![Act::Hear, Act::Hang]));
    assert_eq!(result.unwrap_err(), Failure::FirstByteTimeout);
}

#[test]
fn a_body_that_never_ends_ends_in_time() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for more in [Act::Hang, Act::Repeat(b"1\r\nx\r\n".repeat(10))] {
        let config = FetchConfig {
            total_timeout: SHORT,
            max_body: u64::MAX,
            ..config()
        };
        let script = vec![Act::Hear, say(head), say("1\r\nx\r\n"), more];
        let document = run(slow(config, script)).unwrap();
        assert_eq!(document.truncated, Some(Truncation::Time));
        assert!(document.body.starts_with(b"x"));
    }
}

#[test]
fn a_reset_in_the_body_keeps_the_prefix() {
    let script = vec![
        Act::Hear,
        say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
        Act::Reset,
    ];
    // A reset may overtake what was sent before it.
    match run(slow(config(), script)) {
        Ok(document) => assert_eq!(document.truncated, Some(Truncation::Disconnect)),
        Err(failure) => assert_eq!(failure, Failure::Closed),
    }
}

#[test]
fn documents_go_to_other_threads() {
    fn is_send<T: Send + 'static>() {}
    is_send::<rhumb_fetch::Document>();
    is_send::<Failure>();
}
