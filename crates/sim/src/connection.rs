//! One connection: requests in, responses out, until one side has enough.

use std::cell::RefCell;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Buf;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::log::{LoggedRequest, RequestLog};
use crate::path::write_number;
use crate::web::{Answer, Web};

const MAX_HEAD: usize = 16 * 1024;
const MAX_HEADERS: usize = 64;
/// What is kept of names, paths and agents in the log.
const MAX_LOGGED: usize = 2_048;
const CHUNK: usize = 8 * 1024;
/// Buffers larger than this, or more of them, are not kept.
const KEPT_BUFFER: usize = 512 * 1024;
const KEPT_BUFFERS: usize = 16;
/// How long a silent client keeps its connection.
const PATIENCE: Duration = Duration::from_secs(60);

/// What all connections of a server share.
pub struct Shared {
    pub web: Web,
    pub log: RequestLog,
    pub latency: Duration,
}

/// What a request head says, as far as it matters here.
struct Request<'a> {
    method: &'a str,
    target: &'a str,
    host: &'a str,
    agent: &'a str,
    accept_gzip: bool,
    keep_alive: bool,
    http11: bool,
    length: usize,
}

/// Where a response is put together. The one used last is used next: most
/// responses leave in one write, so a few buffers serve all connections and
/// stay in the processor's cache, and idle connections hold none.
#[derive(Default)]
struct Buffers {
    head: Vec<u8>,
    body: Vec<u8>,
}

thread_local! {
    static KEPT: RefCell<Vec<Buffers>> = const { RefCell::new(Vec::new()) };
}

impl Buffers {
    fn take() -> Buffers {
        KEPT.with_borrow_mut(Vec::pop).unwrap_or_default()
    }

    fn put_back(mut self) {
        self.body.clear();
        if self.body.capacity() <= KEPT_BUFFER && self.head.capacity() <= KEPT_BUFFER {
            KEPT.with_borrow_mut(|kept| {
                if kept.len() < KEPT_BUFFERS {
                    kept.push(self);
                }
            });
        }
    }
}

enum Head<'a> {
    Partial,
    Whole(Request<'a>),
    Invalid,
}

pub async fn serve(mut stream: TcpStream, address: Ipv4Addr, shared: Arc<Shared>) {
    // A client that goes away is no event here.
    let _ = serve_requests(&mut stream, address, &shared).await;
}

async fn serve_requests(
    stream: &mut TcpStream,
    address: Ipv4Addr,
    shared: &Shared,
) -> io::Result<()> {
    let mut input: Vec<u8> = Vec::with_capacity(2_048);
    loop {
        match parse(&input) {
            Head::Partial if input.len() < MAX_HEAD => {
                if timeout(PATIENCE, stream.read_buf(&mut input)).await?? == 0 {
                    return Ok(());
                }
            }
            Head::Partial | Head::Invalid => return refuse(stream, address, shared).await,
            Head::Whole(request) => {
                let go_on = respond(stream, address, shared, &request).await?;
                if !go_on {
                    return stream.shutdown().await;
                }
                let length = request.length;
                input.drain(..length);
            }
        }
    }
}

/// What is not HTTP, or names no host, is logged without a path.
async fn refuse(stream: &mut TcpStream, address: Ipv4Addr, shared: &Shared) -> io::Result<()> {
    let now = shared.log.now();
    shared.log.record(|| LoggedRequest {
        time: now,
        end: now,
        host: String::new(),
        address,
        path: String::new(),
        status: 400,
        agent: String::new(),
        bytes: 0,
    })?;
    stream
        .write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        .await
}

/// Answer one request; whether the connection may go on.
async fn respond(
    stream: &mut TcpStream,
    address: Ipv4Addr,
    shared: &Shared,
    request: &Request<'_>,
) -> io::Result<bool> {
    let time = shared.log.now();
    let web = &shared.web;
    if !shared.latency.is_zero() {
        tokio::time::sleep(web.latency(shared.latency, request.host, request.target)).await;
    }
    let mut buffers = Buffers::take();
    let Buffers { head, body } = &mut buffers;
    let known_method = matches!(request.method, "GET" | "HEAD");
    let mut answer = web.answer(request.host, request.target, request.accept_gzip, body);
    if !known_method {
        body.clear();
        answer.refuse_method();
    }
    let keep_alive = request.keep_alive && !answer.closes;
    let chunked = answer.chunked && request.http11;
    write_head(&answer, body.len(), chunked, keep_alive, head);
    if request.method == "HEAD" {
        body.clear();
    }
    let bytes = body.len() as u64;
    if chunked && request.method != "HEAD" {
        write_chunks(body, head);
        body.clear();
    }
    let mut rest = Buf::chain(&head[..], &body[..]);
    let mut end = time;
    while rest.has_remaining() {
        end = shared.log.now();
        if timeout(PATIENCE, stream.write_buf(&mut rest)).await?? == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
    buffers.put_back();
    // No pause between the last write and this: who asks the server for its
    // log after having the response finds the request in it.
    shared.log.record(|| LoggedRequest {
        time,
        end,
        host: clip(name_of(request.host)).to_ascii_lowercase(),
        address,
        path: clip(request.target).to_owned(),
        status: answer.status,
        agent: clip(request.agent).to_owned(),
        bytes,
    })?;
    Ok(keep_alive)
}

fn parse(input: &[u8]) -> Head<'_> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(input) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Head::Partial,
        Err(_) => return Head::Invalid,
    };
    let mut request = Request {
        method: parsed.method.unwrap_or_default(),
        target: parsed.path.unwrap_or_default(),
        host: "",
        agent: "",
        accept_gzip: false,
        keep_alive: parsed.version == Some(1),
        http11: parsed.version == Some(1),
        length,
    };
    for header in parsed.headers.iter() {
        let value = std::str::from_utf8(header.value).unwrap_or_default();
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("host") {
            request.host = value;
        } else if is("user-agent") {
            request.agent = value;
        } else if is("accept-encoding") {
            request.accept_gzip = value.split(',').any(accepts_gzip);
        } else if is("connection") {
            request.keep_alive = if request.http11 {
                !value.eq_ignore_ascii_case("close")
            } else {
                value.eq_ignore_ascii_case("keep-alive")
            };
        } else if (is("content-length") && value != "0") || is("transfer-encoding") {
            // Bodies are not read, so nothing can come after one.
            request.keep_alive = false;
            request.http11 = false;
        }
    }
    if request.host.is_empty() {
        return Head::Invalid;
    }
    Head::Whole(request)
}

fn accepts_gzip(coding: &str) -> bool {
    let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
    let refused = matches!(quality.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
    name.trim().eq_ignore_ascii_case("gzip") && !refused
}

fn write_head(answer: &Answer, length: usize, chunked: bool, keep_alive: bool, out: &mut Vec<u8>) {
    out.clear();
    let mut put = |parts: &[&str]| {
        for part in parts {
            out.extend_from_slice(part.as_bytes());
        }
    };
    put(&["HTTP/1.1 ", status_line(answer.status)]);
    put(&[
        "\r\nServer: rhumb-sim\r\nContent-Type: ",
        answer.content_type,
    ]);
    if let Some(location) = &answer.location {
        put(&["\r\nLocation: ", location]);
    }
    if answer.gzip {
        put(&["\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding"]);
    }
    if !keep_alive {
        put(&["\r\nConnection: close"]);
    }
    if chunked {
        put(&["\r\nTransfer-Encoding: chunked\r\n\r\n"]);
    } else {
        put(&["\r\nContent-Length: "]);
        write_number(length as u64, out);
        out.extend_from_slice(b"\r\n\r\n");
    }
}

fn write_chunks(body: &[u8], out: &mut Vec<u8>) {
    for chunk in body.chunks(CHUNK) {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
}

fn status_line(status: u16) -> &'static str {
    match status {
        200 => "200 OK",
        301 => "301 Moved Permanently",
        302 => "302 Found",
        307 => "307 Temporary Redirect",
        308 => "308 Permanent Redirect",
        405 => "405 Method Not Allowed",
        421 => "421 Misdirected Request",
        _ => "404 Not Found",
    }
}

/// The name in a `Host` header.
fn name_of(host: &str) -> &str {
    host.split_once(':').map_or(host, |(name, _)| name)
}

fn clip(text: &str) -> &str {
    let mut end = text.len().min(MAX_LOGGED);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
