//! Long documents: complete, and within the memory they are given.

mod support;

use rhumb_fetch::{FetchConfig, Spool};
use support::{Act, Server, config, connect, fetch, run, say};

fn long_response(bytes: usize) -> Vec<u8> {
    let mut response = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n").into_bytes();
    response.extend((0..bytes).map(|at| (at / 7 % 251) as u8));
    response
}

fn within(memory: u64) -> FetchConfig {
    FetchConfig {
        spool: Spool::new(std::env::temp_dir(), memory),
        ..config()
    }
}

#[test]
fn a_long_document_is_the_same_as_a_short_one() {
    run(async {
        for bytes in [1, 64 << 10, (64 << 10) + 1, 200_000, 3_000_001] {
            let response = long_response(bytes);
            let document = fetch(config(), &response).await.unwrap();
            assert!(document.wire == response, "{bytes}");
            assert!(
                document.body == response[response.len() - bytes..],
                "{bytes}"
            );
            assert_eq!(document.truncated, None);
        }
    });
}

#[test]
fn long_documents_wait_for_room() {
    run(async {
        let config = within(300 << 10);
        let spool = config.spool.clone();
        let response = long_response(200 << 10);
        let script = || vec![Act::Hear, say(&response)];
        let server = Server::start((0..5).map(|_| script()).collect()).await;
        let all = spool.free();
        let mut fetches = tokio::task::JoinSet::new();
        for _ in 0..5 {
            let (config, url) = (config.clone(), server.url("/"));
            fetches.spawn_local(async move {
                let mut connection = connect(config, &url).await?;
                connection.get(&url, None).await
            });
        }
        let mut first = fetches.join_next().await.unwrap().unwrap().unwrap();
        for _ in 1..5 {
            // A part of it holds the room for all of it.
            first.wire.clear();
            first.payload.clear();
            // Whoever waits has set aside what room there is.
            while spool.free() > 0 {
                tokio::task::yield_now().await;
            }
            assert!(fetches.try_join_next().is_none());
            drop(first);
            first = fetches.join_next().await.unwrap().unwrap().unwrap();
        }
        drop(first);
        assert_eq!(spool.free(), all);
    });
}

#[test]
fn a_document_longer_than_all_room_comes_alone() {
    run(async {
        let response = long_response(500 << 10);
        let document = fetch(within(100 << 10), &response).await.unwrap();
        assert!(document.wire == response);
    });
}

#[test]
fn a_disk_that_cannot_keep_it_is_told() {
    run(async {
        let config = FetchConfig {
            spool: Spool::new("/nowhere/at/all".into(), 1 << 20),
            ..config()
        };
        let failure = fetch(config.clone(), long_response(100 << 10))
            .await
            .unwrap_err();
        assert_eq!(failure.code(), "unkept");
        fetch(config, long_response(10 << 10)).await.unwrap();
    });
}
