//! Records what passes over a stream, underneath hyper.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{BufMut, Bytes, BytesMut};
use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncReadExt, AsyncWrite};

use crate::stream::Stream;

/// The most that one read adds to the tape.
const READ_STEP: usize = 32 << 10;
/// Below this much free space, room is made before reading.
const READ_LEAST: usize = 4 << 10;

/// The bytes of one request and its response.
pub(super) struct Tape {
    sent: BytesMut,
    received: BytesMut,
    /// Bytes received since the connection began.
    total: u64,
    /// The stream fails when a response grows beyond this.
    limit: usize,
    overflowed: bool,
}

impl Tape {
    pub(super) fn new() -> Tape {
        Tape {
            sent: BytesMut::new(),
            received: BytesMut::new(),
            total: 0,
            limit: 0,
            overflowed: false,
        }
    }

    /// Begin a new request.
    pub(super) fn rewind(&mut self, limit: usize) {
        self.sent.clear();
        self.received.clear();
        self.limit = limit;
        self.overflowed = false;
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    pub(super) fn received(&self) -> &[u8] {
        &self.received
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// What was sent and what was received; the tape is empty afterwards.
    pub(super) fn take(&mut self) -> (Bytes, Bytes) {
        let sent = std::mem::take(&mut self.sent);
        let received = std::mem::take(&mut self.received);
        (sent.freeze(), received.freeze())
    }
}

/// A stream for hyper that keeps a tape of both directions.
///
/// Bytes are read onto the tape itself and copied to hyper from there: one
/// copy, which is the price of the recording.
pub(super) struct Recorder {
    stream: Stream,
    tape: Rc<RefCell<Tape>>,
}

impl Recorder {
    pub(super) fn new(stream: Stream, tape: Rc<RefCell<Tape>>) -> Recorder {
        Recorder { stream, tape }
    }
}

impl Read for Recorder {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let tape = &mut *this.tape.borrow_mut();
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let before = tape.received.len();
        if before >= tape.limit {
            tape.overflowed = true;
            return Poll::Ready(Err(io::Error::other("longer than allowed")));
        }
        let step = buf.remaining().min(READ_STEP);
        if tape.received.capacity() - before < READ_LEAST.min(step) {
            tape.received.reserve(step);
        }
        let mut target = (&mut tape.received).limit(step);
        ready!(pin!(this.stream.read_buf(&mut target)).poll(cx))?;
        tape.total += (tape.received.len() - before) as u64;
        buf.put_slice(&tape.received[before..]);
        Poll::Ready(Ok(()))
    }
}

impl Write for Recorder {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write(cx, buf))?;
        this.tape.borrow_mut().sent.put_slice(&buf[..written]);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}
