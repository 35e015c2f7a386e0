//! What is sent and received, byte for byte, for every way a body can be framed.

mod support;

use rhumb_fetch::{Document, Failure, FetchConfig, Truncation, Unwanted, Validators, WantedTypes};
use support::{Act, Server, config, connect, fetch, run, say};

fn get(response: impl AsRef<[u8]>) -> Document {
    run(fetch(config(), response)).unwrap()
}

/// Everything the server said is in `wire`, and cut at the right places.
fn assert_whole(document: &Document, response: &[u8], payload: &[u8]) {
    assert_eq!(document.wire, response);
    assert_eq!(document.payload, payload);
    assert_eq!(document.body, payload);
    assert_eq!(document.truncated, None);
    assert!(document.wire[..document.head_len].ends_with(b"\n"));
}

#[test]
fn request_has_a_fixed_order_and_is_recorded() {
    run(async {
        let server = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
        let url = server.url("/a%20b?c=d|{e}[f]`^\\");
        let mut config = config();
        config.headers = vec![
            ("X-One".into(), "1".into()),
            ("from".into(), "a@b.c".into()),
        ];
        let known = Validators {
            etag: Some("\"v1\"".into()),
            last_modified: Some("Tue, 09 Nov 2010 14:49:00 GMT".into()),
        };
        let mut connection = connect(config, &url).await.unwrap();
        let document = connection.get(&url, Some(&known)).await.unwrap();
        let expected = format!(
            "GET {} HTTP/1.1\r\nhost: {}\r\nuser-agent: rhumb-test\r\n\
             accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
             accept-encoding: gzip, deflate, br, zstd\r\nx-one: 1\r\nfrom: a@b.c\r\n\
             if-none-match: \"v1\"\r\nif-modified-since: Tue, 09 Nov 2010 14:49:00 GMT\r\n\r\n",
            url.path_and_query(),
            server.address
        );
        assert_eq!(std::str::from_utf8(&document.request).unwrap(), expected);
        assert_eq!(server.heard(), [expected.into_bytes()]);
    });
}

#[test]
fn stated_length_is_kept_and_payload_shares_the_wire() {
    let response = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";
    let document = get(response);
    assert_whole(&document, response, b"hello");
    assert_eq!(document.status, 200);
    assert_eq!(document.content_type(), Some("text/plain"));
    assert_eq!(
        document.body.as_ptr(),
        document.wire[document.head_len..].as_ptr()
    );
}

#[test]
fn chunks_stay_on_the_wire_and_leave_the_payload() {
    let response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n\
        5\r\nhello\r\n6;a=b\r\n world\r\n0\r\nX: y\r\n\r\n";
    assert_whole(&get(response), response, b"hello world");
}

#[test]
fn body_until_the_close() {
    let response = b"HTTP/1.0 200 OK\r\n\r\nhello\r\n\r\nworld";
    assert_whole(&get(response), response, b"hello\r\n\r\nworld");
}

#[test]
fn statuses_without_a_body() {
    for status in ["204 No Content", "304 Not Modified"] {
        let response = format!("HTTP/1.1 {status}\r\nContent-Length: 10\r\nETag: x\r\n\r\n");
        assert_whole(&get(&response), response.as_bytes(), b"");
    }
}

#[test]
fn interim_responses_are_not_part_of_the_response() {
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let document = get(format!(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n{response}"
    ));
    assert_whole(&document, response.as_bytes(), b"ok");
}

#[test]
fn stray_bytes_after_the_end_are_not_part_of_the_response() {
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    assert_whole(&get(format!("{response}stray")), response.as_bytes(), b"ok");
    let response = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    assert_whole(&get(format!("{response}stray")), response.as_bytes(), b"ok");
}

#[test]
fn old_servers_are_understood() {
    let response =
        b"HTTP/1.1 200\nX-Fold: a\n b\nno colon here\nSpaced : c\nContent-Length: 2\n\nok";
    let document = get(response);
    assert_whole(&document, response, b"ok");
    assert_eq!(document.header("spaced"), Some("c"));
    let response = b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nok\n0\n\n";
    assert_whole(&get(response), response, b"ok");
}

#[test]
fn large_bodies_come_whole() {
    let body = vec![b'x'; 3 << 20];
    let mut plain =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    plain.extend_from_slice(&body);
    assert_whole(&get(&plain), &plain, &body);
    let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in body.chunks(10_000) {
        chunked.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        chunked.extend_from_slice(chunk);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    assert_whole(&get(&chunked), &chunked, &body);
}

fn endless(head: &str, piece: &str) -> Document {
    run(async {
        let script = vec![Act::Hear, say(head), Act::Repeat(piece.into())];
        let server = Server::start(vec![script]).await;
        let url = server.url("/");
        let config = FetchConfig {
            max_body: 100_000,
            ..config()
        };
        let mut connection = connect(config, &url).await.unwrap();
        let document = connection.get(&url, None).await.unwrap();
        assert!(!connection.reusable());
        document
    })
}

#[test]
fn endless_bodies_are_cut_at_the_limit() {
    let document = endless("HTTP/1.1 200 OK\r\n\r\n", "0123456789");
    assert_eq!(document.truncated, Some(Truncation::Length));
    assert_eq!(document.body.len(), 100_000);
    assert_eq!(document.wire.len(), document.head_len + 100_000);
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let document = endless(head, "a\r\n0123456789\r\n");
    assert_eq!(document.truncated, Some(Truncation::Length));
    assert!(document.body.len() <= 100_000 && document.body.len() > 50_000);
}

#[test]
fn chunks_of_one_byte_cannot_fill_the_memory() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let document = endless(head, "1\r\nx\r\n");
    assert_eq!(document.truncated, Some(Truncation::Length));
    assert!(document.wire.len() < 1 << 20);
}

#[test]
fn endless_headers_are_refused() {
    for piece in ["X: yyyyyyyyyy\r\n", "y"] {
        let failure = run(async {
            let script = vec![
                Act::Hear,
                say("HTTP/1.1 200 OK\r\nA: "),
                Act::Repeat(piece.into()),
            ];
            let server = Server::start(vec![script]).await;
            let url = server.url("/");
            let mut connection = connect(config(), &url).await.unwrap();
            connection.get(&url, None).await.unwrap_err()
        });
        assert_eq!(failure, Failure::HeadersTooLarge, "{piece}");
    }
}

#[test]
fn many_header_fields_are_read_up_to_the_limit() {
    let get = |fields: usize, max_headers: usize| {
        let lines: String = (0..fields).map(|n| format!("X-{n}: y\r\n")).collect();
        let response = format!("HTTP/1.1 204 No Content\r\n{lines}\r\n");
        let config = FetchConfig {
            max_headers,
            max_header_bytes: 1 << 20,
            ..config()
        };
        run(fetch(config, response.as_bytes())).map(|document| document.headers.len())
    };
    let usual = FetchConfig::default().max_headers;
    assert_eq!(get(500, usual), Ok(500));
    assert_eq!(get(600, usual), Err(Failure::HeadersTooLarge));
    assert_eq!(get(600, 600), Ok(600));
    // Whatever was asked for, a server cannot make the program fail.
    assert_eq!(get(30_000, usize::MAX), Err(Failure::HeadersTooLarge));
    assert_eq!(get(16_000, usize::MAX), Ok(16_000));
}

#[test]
fn endless_interim_responses_are_refused() {
    let failure = run(async {
        let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(100);
        let script = vec![Act::Hear, Act::Repeat(interim.into())];
        let server = Server::start(vec![script]).await;
        let url = server.url("/");
        let mut connection = connect(config(), &url).await.unwrap();
        connection.get(&url, None).await.unwrap_err()
    });
    assert_eq!(failure, Failure::HeadersTooLarge);
}

#[test]
fn unwanted_types_are_not_read() {
    run(async {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n";
        let script = vec![Act::Hear, say(head), Act::Repeat(b"x".to_vec())];
        let server = Server::start(vec![script]).await;
        let url = server.url("/");
        let mut config = config();
        config.wanted = WantedTypes::parse(&["text/*"]).unwrap();
        let mut connection = connect(config, &url).await.unwrap();
        let document = connection.get(&url, None).await.unwrap();
        assert_eq!(document.unwanted, Some(Unwanted::Type("video/mp4".into())));
        assert_eq!(document.wire, head);
        assert!(document.body.is_empty());
        assert!(!connection.reusable());
    });
}

#[test]
fn bodies_stated_too_large_are_not_read() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n";
    let document = get(format!("{head}begin"));
    assert_eq!(document.unwanted, Some(Unwanted::Size(10_000_000_000)));
    assert_eq!(document.wire, head);
}

#[test]
fn errors_and_redirects_are_read_whatever_their_type() {
    let mut config = config();
    config.wanted = WantedTypes::parse(&["text/html"]).unwrap();
    let response = "HTTP/1.1 302 Found\r\nLocation: /x y\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\npng";
    let document = run(fetch(config, response)).unwrap();
    assert_eq!(document.unwanted, None);
    assert_eq!(document.body, "png");
    assert_eq!(document.location().as_deref(), Some("/x y"));
}

#[test]
fn cut_bodies_keep_their_prefix() {
    let document = get("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
    assert_eq!(document.truncated, Some(Truncation::Disconnect));
    assert_eq!(document.body, "hello");
    let document =
        get("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n9\r\nwor");
    assert_eq!(document.truncated, Some(Truncation::Disconnect));
    assert_eq!(document.body, "hellowor");
    let document = get("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n");
    assert_eq!(document.truncated, Some(Truncation::Decode));
    assert_eq!(document.body, "hello");
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    use std::time::{Duration, UNIX_EPOCH};
    let wait = |value: &str| {
        let response =
            format!("HTTP/1.1 503 Busy\r\nRetry-After: {value}\r\nContent-Length: 0\r\n\r\n");
        get(response).retry_after(UNIX_EPOCH + Duration::from_secs(784_111_700))
    };
    assert_eq!(wait("120"), Some(Duration::from_secs(120)));
    let date = wait("Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(date, Some(Duration::from_secs(77)));
    let past = wait("Sat, 05 Nov 1994 08:49:37 GMT");
    assert_eq!(past, Some(Duration::ZERO));
    assert_eq!(wait("soon"), None);
}

#[test]
fn a_location_that_is_no_text_is_escaped() {
    run(async {
        let response = b"HTTP/1.1 302 Found\r\nLocation: /caf\xe9\r\nContent-Length: 0\r\n\r\n";
        let document = fetch(config(), response).await.unwrap();
        assert_eq!(document.location().as_deref(), Some("/caf%E9"));
    });
}
