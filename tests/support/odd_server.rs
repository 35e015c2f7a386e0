//! A small server that answers as a test tells it to, and remembers when it
//! was asked for what.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::program::{Done, run};

pub const HTML: &str = "200 OK\r\nContent-Type: text/html";

/// A page with links and nothing else.
pub fn page(links: &[&str]) -> Reply {
    let anchors = links.iter().map(|to| format!("<a href=\"{to}\">x</a>"));
    Reply::Answer(HTML, anchors.collect())
}

/// `rhumb crawl` of a seed into a directory, to its end.
pub fn crawl(seed: &str, dir: &Path, more: &[&str]) -> Done {
    let dir = dir.display().to_string();
    let mut args = vec!["crawl", seed, "--dir", &dir, "--json", "--quiet"];
    args.extend(more);
    run(args)
}

/// What to do with a request.
pub enum Reply {
    /// Status line and headers without their length, and the body.
    Answer(&'static str, String),
    /// The same with a body that is no text.
    Bytes(&'static str, Vec<u8>),
    /// Close the connection without a word.
    Close,
    /// Say nothing for as long as the client waits.
    Silence,
}

#[derive(Debug, Clone)]
pub struct Asked {
    pub at: Instant,
    pub path: String,
}

type Answers = dyn Fn(&str) -> Reply + Send + Sync;

/// Listens until it is dropped.
pub struct OddServer {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    sent: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
}

impl OddServer {
    /// `answers` is given the path of each request.
    pub fn start(answers: impl Fn(&str) -> Reply + Send + Sync + 'static) -> OddServer {
        OddServer::start_at(Ipv4Addr::LOCALHOST, answers)
    }

    pub fn start_at(
        address: Ipv4Addr,
        answers: impl Fn(&str) -> Reply + Send + Sync + 'static,
    ) -> OddServer {
        let listener = TcpListener::bind((address, 0)).expect("a free port");
        let server = OddServer {
            address: listener.local_addr().expect("an address"),
            asked: Arc::default(),
            sent: Arc::default(),
            ends: Arc::default(),
        };
        let (asked, ends) = (Arc::clone(&server.asked), Arc::clone(&server.ends));
        let sent = Arc::clone(&server.sent);
        let answers: Arc<Answers> = Arc::new(answers);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let (asked, answers) = (Arc::clone(&asked), Arc::clone(&answers));
                let sent = Arc::clone(&sent);
                // A client that goes away is no fault of the test.
                std::thread::spawn(move || stream.map(|s| serve(&s, &asked, &sent, &*answers)));
            }
        });
        server
    }

    /// Bytes of all answers.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    pub fn asked(&self) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.clone()
    }
}

impl Drop for OddServer {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(
    stream: &TcpStream,
    asked: &Mutex<Vec<Asked>>,
    sent: &AtomicU64,
    answers: &Answers,
) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    loop {
        let request = lines.next()?.ok()?;
        while !lines.next()?.ok()?.is_empty() {}
        let path = request.split(' ').nth(1)?.to_owned();
        let mut log = asked.lock().unwrap_or_else(PoisonError::into_inner);
        log.push(Asked {
            at: Instant::now(),
            path: path.clone(),
        });
        drop(log);
        let (head, body) = match answers(&path) {
            Reply::Close => return None,
            Reply::Silence => return lines.find_map(Result::err).map(drop),
            Reply::Answer(head, body) => (head, body.into_bytes()),
            Reply::Bytes(head, body) => (head, body),
        };
        let length = body.len();
        let mut answer =
            format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n").into_bytes();
        answer.extend_from_slice(&body);
        let mut out = stream;
        sent.fetch_add(answer.len() as u64, Ordering::SeqCst);
        out.write_all(&answer).ok()?;
    }
}
