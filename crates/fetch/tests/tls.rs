//! https against a server whose certificate nobody signed but itself.

mod support;

use std::net::Ipv4Addr;
use std::sync::Arc;

use rhumb_fetch::{Failure, FetchConfig, Fetcher};
use rhumb_url::Url;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use support::{LOOPBACK, config, run};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Serves one page on every connection, and hangs up without the TLS word for
/// it. With `speaks_tls` off it answers the handshake in plain text.
async fn serve(speaks_tls: bool) -> Url {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::task::spawn_local(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            if !speaks_tls {
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
                continue;
            }
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nsecret").await;
            let _ = stream.flush().await;
        }
    });
    Url::parse(&format!("https://localhost:{port}/")).unwrap()
}

#[test]
fn an_unknown_certificate_is_refused_with_the_reason() {
    run(async {
        let url = serve(true).await;
        let fetcher = Fetcher::new(config()).unwrap();
        let failure = fetcher.connect(&url, &LOOPBACK).await.err().unwrap();
        let Failure::Tls(reason) = &failure else {
            panic!("{failure:?}");
        };
        assert!(reason.contains("certificate"), "{reason}");
        assert!(!failure.is_transient());
    });
}

#[test]
fn without_verification_the_page_comes_whole() {
    run(async {
        let url = serve(true).await;
        let config = FetchConfig {
            verify_tls: false,
            ..config()
        };
        let fetcher = Fetcher::new(config).unwrap();
        for _ in 0..2 {
            let mut connection = fetcher.connect(&url, &LOOPBACK).await.unwrap();
            let document = connection.get(&url, None).await.unwrap();
            assert_eq!(document.wire, "HTTP/1.1 200 OK\r\n\r\nsecret");
            assert_eq!(document.body, "secret");
            assert_eq!(document.truncated, None);
        }
    });
}

#[test]
fn a_server_that_does_not_speak_tls() {
    run(async {
        let url = serve(false).await;
        let fetcher = Fetcher::new(config()).unwrap();
        let failure = fetcher.connect(&url, &LOOPBACK).await.err().unwrap();
        assert_eq!(failure.code(), "tls", "{failure:?}");
    });
}
