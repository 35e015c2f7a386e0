//! One request and its response.

use std::cell::RefCell;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::response::Parts;
use http_body_util::Empty;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{self as hyper1, SendRequest};
use rhumb_url::Url;

use super::framing::{self, Framing};
use super::tape::{Recorder, Tape};
use super::timer::Timer;
use crate::decode::decode;
use crate::{Document, Failure, FetchConfig, Truncation, Unwanted};

/// The tape may hold this much beyond header and body: hyper's read-ahead and
/// the framing of small bodies. Larger bodies may add an eighth of framing.
const TAPE_SLACK: usize = 128 << 10;

type Driver = hyper1::Connection<Recorder, Empty<Bytes>>;

/// hyper's two ends: one takes requests, the other moves the bytes.
pub(super) struct Pipe {
    sender: SendRequest<Empty<Bytes>>,
    /// Gone when the connection has ended.
    driver: Option<Driver>,
    timer: Timer,
}

impl Pipe {
    pub(super) fn new(
        sender: SendRequest<Empty<Bytes>>,
        driver: Driver,
        config: &FetchConfig,
    ) -> Pipe {
        Pipe {
            sender,
            driver: Some(driver),
            timer: Timer::new(config),
        }
    }

    /// Let the bytes move, and say whether another request can be sent now.
    pub(super) fn poll_idle(&mut self, cx: &mut Context<'_>) -> bool {
        drive(&mut self.driver, cx);
        self.driver.is_some() && self.sender.is_ready()
    }
}

/// When hyper's connection ends it is dropped at once, which tells everybody
/// who waits for it. Its error is theirs, not the connection's.
fn drive(driver: &mut Option<Driver>, cx: &mut Context<'_>) {
    if let Some(running) = driver
        && Pin::new(running).poll(cx).is_ready()
    {
        *driver = None;
    }
}

struct TimedOut;

/// Wait for what only `driver` can bring about. As it is always polled first
/// and with the task's own waker, `step` needs none: no wake-up of this task
/// by itself.
async fn wait<T>(
    driver: &mut Option<Driver>,
    timer: &mut Timer,
    mut step: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Result<T, TimedOut> {
    poll_fn(|cx| {
        drive(driver, cx);
        match step(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Poll::Ready(Ok(done)),
            Poll::Pending => timer.poll(cx).map(|()| Err(TimedOut)),
        }
    })
    .await
}

/// How a body's reading ended.
struct Reading {
    /// Bytes of payload that hyper handed out.
    length: u64,
    truncated: Option<Truncation>,
}

/// What a request needs to know besides its URL.
pub(super) struct Exchange<'a> {
    pub config: &'a FetchConfig,
    pub tape: &'a RefCell<Tape>,
    pub remote: SocketAddr,
    /// The body is read whatever the header says of its type and length.
    pub any_type: bool,
}

impl Exchange<'_> {
    /// Send the request, read the response, and say whether it was read to
    /// its end.
    pub(super) async fn run(
        &self,
        pipe: &mut Pipe,
        request: Request<Empty<Bytes>>,
        url: &Url,
    ) -> Result<(Document, bool), Failure> {
        pipe.timer.start(self.config);
        let (head, mut body) = self.head(pipe, request).await?;
        let first_byte = pipe.timer.elapsed();
        let framing = Framing::of(&head.headers, body.size_hint().exact());
        let unwanted = self.unwanted(&head, framing);
        let reading = match unwanted {
            Some(_) => None,
            None => Some(self.body(pipe, &mut body).await),
        };
        let total = pipe.timer.elapsed();
        let complete = reading
            .as_ref()
            .is_some_and(|reading| reading.truncated.is_none());
        let taken = self.tape.borrow_mut().take();
        let (request, received) = taken.map_err(unkept)?;
        let received = received.whole().await.map_err(unkept)?;
        let parts = self.assemble(framing, reading, request, received)?;
        let document = parts.document(self, url, head, unwanted, (first_byte, total));
        Ok((document, complete))
    }

    async fn head(
        &self,
        pipe: &mut Pipe,
        request: Request<Empty<Bytes>>,
    ) -> Result<(Parts, Incoming), Failure> {
        let Pipe {
            sender,
            driver,
            timer,
        } = pipe;
        // Interim responses may come before the one that counts.
        let limit = self.config.max_header_bytes.saturating_mul(2);
        self.tape
            .borrow_mut()
            .rewind(limit.saturating_add(TAPE_SLACK));
        // The first poll also sees whether the server has closed meanwhile.
        wait(driver, timer, |cx| sender.poll_ready(cx))
            .await
            .map_err(|TimedOut| Failure::FirstByteTimeout)?
            .map_err(|_| Failure::Closed)?;
        let mut response = pin!(sender.send_request(request));
        match wait(driver, timer, |cx| response.as_mut().poll(cx)).await {
            Err(TimedOut) => Err(Failure::FirstByteTimeout),
            Ok(Err(error)) => Err(self.head_failure(&error)),
            Ok(Ok(response)) => Ok(response.into_parts()),
        }
    }

    fn head_failure(&self, error: &hyper::Error) -> Failure {
        let tape = self.tape.borrow();
        if tape.overflowed() || is_too_large(error) {
            Failure::HeadersTooLarge
        } else if error.is_parse() {
            Failure::Protocol(error.to_string())
        } else if tape.is_blank() {
            Failure::Closed
        } else {
            Failure::HeaderCut
        }
    }

    /// What the header alone says against the body. Redirects and errors are
    /// read whatever they are: they are small, and their words are evidence.
    fn unwanted(&self, head: &Parts, framing: Framing) -> Option<Unwanted> {
        if self.any_type || !head.status.is_success() {
            return None;
        }
        let content_type = head.headers.get(http::header::CONTENT_TYPE);
        let content_type =
            content_type.and_then(|value| std::str::from_utf8(value.as_bytes()).ok());
        if !self.config.wanted.wants(content_type) {
            return Some(Unwanted::Type(content_type.unwrap_or_default().to_owned()));
        }
        match framing {
            Framing::Length(length) if length > self.config.max_body => {
                Some(Unwanted::Size(length))
            }
            _ => None,
        }
    }

    async fn body(&self, pipe: &mut Pipe, body: &mut Incoming) -> Reading {
        let Pipe { driver, timer, .. } = pipe;
        let limit = self.tape_limit();
        self.tape.borrow_mut().set_limit(limit);
        let mut length = 0u64;
        let truncated = loop {
            if !timer.alive(self.config.idle_timeout) {
                break Some(Truncation::Time);
            }
            match wait(driver, timer, |cx| Pin::new(&mut *body).poll_frame(cx)).await {
                Err(TimedOut) => break Some(Truncation::Time),
                Ok(None) => break None,
                Ok(Some(Err(error))) => break Some(self.body_trouble(&error)),
                Ok(Some(Ok(frame))) => {
                    let data = frame.data_ref().map_or(0, Bytes::len);
                    length = length.saturating_add(data as u64);
                }
            }
            if length > self.config.max_body {
                break Some(Truncation::Length);
            }
        };
        Reading { length, truncated }
    }

    fn tape_limit(&self) -> usize {
        let body = usize::try_from(self.config.max_body).unwrap_or(usize::MAX);
        let head = self.config.max_header_bytes.saturating_mul(2);
        body.saturating_add(body / 8)
            .saturating_add(head)
            .saturating_add(TAPE_SLACK)
    }

    fn body_trouble(&self, error: &hyper::Error) -> Truncation {
        if self.tape.borrow().overflowed() {
            return Truncation::Length;
        }
        let mut cause = error.source();
        while let Some(inner) = cause {
            if let Some(io) = inner.downcast_ref::<io::Error>() {
                return match io.kind() {
                    io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Truncation::Decode,
                    _ => Truncation::Disconnect,
                };
            }
            cause = inner.source();
        }
        Truncation::Disconnect
    }

    /// Cut the tape into the response's parts. Without a reading there is only
    /// a head.
    fn assemble(
        &self,
        framing: Framing,
        reading: Option<Reading>,
        request: Bytes,
        received: Bytes,
    ) -> Result<Assembled, Failure> {
        let disagreed = || Failure::Protocol("its framing can be read in two ways".to_owned());
        let head = framing::head(&received).ok_or_else(disagreed)?;
        let head_len = head.len();
        let Some(Reading {
            length,
            mut truncated,
        }) = reading
        else {
            return Ok(Assembled {
                request,
                wire: received.slice(head),
                head_len,
                payload: Bytes::new(),
                truncated: None,
            });
        };
        let rest = received.slice(head.end..);
        let complete = truncated.is_none();
        let max = self.config.max_body;
        let (payload, end) = match framing {
            Framing::Chunked => {
                let chunks = framing::chunks(&rest, max);
                if truncated.is_none() && !chunks.finished {
                    return Err(disagreed());
                }
                // hyper gives up at chunk lines that end by LF alone or hold
                // odd extensions. When all of it is there, nothing is lost.
                if truncated == Some(Truncation::Decode) && chunks.finished {
                    truncated = None;
                }
                (chunks.payload, chunks.end)
            }
            Framing::Length(_) | Framing::UntilClose => {
                let stated = match framing {
                    Framing::Length(stated) => stated.min(max),
                    _ => max,
                };
                let end = stated.min(rest.len() as u64) as usize;
                (rest.slice(..end), end)
            }
        };
        // hyper and the walk over the tape must have seen the same body. Of
        // one that was cut off, the tape may know a little more.
        let seen = payload.len() as u64;
        if seen < length.min(max) || (complete && seen != length) {
            return Err(disagreed());
        }
        Ok(Assembled {
            request,
            wire: received.slice(head.start..head.end + end),
            head_len,
            payload,
            truncated,
        })
    }
}

fn unkept(error: io::Error) -> Failure {
    Failure::Unkept(error.to_string())
}

/// hyper tells a server about this kind of error, but a client only by its
/// words.
fn is_too_large(error: &hyper::Error) -> bool {
    error.is_parse() && error.to_string().contains("too large")
}

/// The tape, cut into pieces.
struct Assembled {
    request: Bytes,
    wire: Bytes,
    head_len: usize,
    payload: Bytes,
    truncated: Option<Truncation>,
}

impl Assembled {
    fn document(
        self,
        exchange: &Exchange<'_>,
        url: &Url,
        head: Parts,
        unwanted: Option<Unwanted>,
        (first_byte, total): (Duration, Duration),
    ) -> Document {
        let (body, trouble) = decode(&head.headers, &self.payload, exchange.config.max_body);
        Document {
            url: url.clone(),
            status: head.status.as_u16(),
            headers: head.headers,
            request: self.request,
            wire: self.wire,
            head_len: self.head_len,
            payload: self.payload,
            body,
            // A cut-off body decodes badly: the first cause is the one to tell.
            truncated: self.truncated.or(trouble),
            unwanted,
            remote: exchange.remote,
            first_byte,
            total,
        }
    }
}
