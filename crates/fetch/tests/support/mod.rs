//! A server that says exactly what a test tells it to, on loopback.
//!
//! Each test binary uses a part of this.
#![allow(dead_code)]

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use rhumb_fetch::{Connection, Document, Failure, FetchConfig, Fetcher};
use rhumb_url::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub const LOOPBACK: [IpAddr; 1] = [IpAddr::V4(Ipv4Addr::LOCALHOST)];

/// One thing a server does on a connection; it closes after the last.
#[derive(Clone)]
pub enum Act {
    /// Read one request head.
    Hear,
    Say(Vec<u8>),
    /// Say this again and again until nobody listens.
    Repeat(Vec<u8>),
    /// Keep the connection open and say nothing.
    Hang,
    /// Send a reset instead of an orderly close.
    Reset,
}

pub fn say(text: impl AsRef<[u8]>) -> Act {
    Act::Say(text.as_ref().to_vec())
}

pub struct Server {
    pub address: SocketAddr,
    heard: Rc<RefCell<Vec<Vec<u8>>>>,
}

impl Server {
    /// The first connection gets the first script, and so on; after the last
    /// script nothing is accepted any more.
    pub async fn start(scripts: Vec<Vec<Act>>) -> Server {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Rc::new(RefCell::new(Vec::new()));
        let log = heard.clone();
        tokio::task::spawn_local(async move {
            for script in scripts {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::task::spawn_local(play(stream, script, log.clone()));
            }
        });
        Server { address, heard }
    }

    /// One connection: hear a request, say this, close.
    pub async fn saying(response: impl AsRef<[u8]>) -> Server {
        Server::start(vec![vec![Act::Hear, say(response)]]).await
    }

    pub fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    /// The request heads heard so far.
    pub fn heard(&self) -> Vec<Vec<u8>> {
        self.heard.borrow().clone()
    }
}

async fn play(mut stream: TcpStream, script: Vec<Act>, log: Rc<RefCell<Vec<Vec<u8>>>>) {
    for act in script {
        match act {
            Act::Hear => {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_) => return,
                    }
                }
                log.borrow_mut().push(head);
            }
            Act::Say(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Act::Repeat(bytes) => while stream.write_all(&bytes).await.is_ok() {},
            Act::Hang => std::future::pending().await,
            Act::Reset => {
                let _ = stream.set_zero_linger();
                return;
            }
        }
    }
    let _ = stream.shutdown().await;
    // Whoever closes with unread bytes sends a reset: read them first.
    let mut rest = [0; 4096];
    while matches!(stream.read(&mut rest).await, Ok(n) if n > 0) {}
}

/// Time-outs that no test should meet unless it means to.
pub fn config() -> FetchConfig {
    FetchConfig {
        agent: "rhumb-test".into(),
        connect_timeout: Duration::from_secs(60),
        first_byte_timeout: Duration::from_secs(60),
        idle_timeout: Duration::from_secs(60),
        total_timeout: Duration::from_secs(120),
        ..FetchConfig::default()
    }
}

pub async fn connect(config: FetchConfig, url: &Url) -> Result<Connection, Failure> {
    Fetcher::new(config).unwrap().connect(url, &LOOPBACK).await
}

/// Fetch one URL from a server that says `response` and closes.
pub async fn fetch(config: FetchConfig, response: impl AsRef<[u8]>) -> Result<Document, Failure> {
    let server = Server::saying(response).await;
    let url = server.url("/");
    connect(config, &url).await?.get(&url, None).await
}

/// Run a test as a shard would: one thread, local tasks.
pub fn run<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test)
}
