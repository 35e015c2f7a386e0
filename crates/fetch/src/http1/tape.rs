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

use crate::spool::{SPOOL_ABOVE, Spool, Spooled};
use crate::stream::Stream;

/// The most that one read adds to the tape.
const READ_STEP: usize = 32 << 10;
/// Below this much free space, room is made before reading.
const READ_LEAST: usize = 4 << 10;

/// The bytes of one request and its response.
pub(super) struct Tape {
    spool: Spool,
    sent: BytesMut,
    /// The response, or what came after `spooled`.
    received: BytesMut,
    spooled: Option<Spooled>,
    /// Why it could not be kept.
    trouble: Option<io::Error>,
    /// Bytes received since the connection began.
    total: u64,
    /// The stream fails when a response grows beyond this.
    limit: usize,
    overflowed: bool,
}

impl Tape {
    pub(super) fn new(spool: Spool) -> Tape {
        Tape {
            spool,
            sent: BytesMut::new(),
            received: BytesMut::new(),
            spooled: None,
            trouble: None,
            total: 0,
            limit: 0,
            overflowed: false,
        }
    }

    /// Begin a new request.
    pub(super) fn rewind(&mut self, limit: usize) {
        self.sent.clear();
        self.received.clear();
        self.spooled = None;
        self.trouble = None;
        self.limit = limit;
        self.overflowed = false;
    }

    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Nothing was received.
    pub(super) fn is_blank(&self) -> bool {
        self.len() == 0
    }

    fn len(&self) -> u64 {
        let spooled = self.spooled.as_ref().map_or(0, Spooled::len);
        spooled + self.received.len() as u64
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// What was sent and what was received; the tape is empty afterwards.
    pub(super) fn take(&mut self) -> io::Result<(Bytes, Received)> {
        if let Some(trouble) = self.trouble.take() {
            return Err(trouble);
        }
        let sent = std::mem::take(&mut self.sent);
        let received = std::mem::take(&mut self.received);
        let received = Received {
            spool: self.spool.clone(),
            spooled: self.spooled.take(),
            end: received.freeze(),
        };
        Ok((sent.freeze(), received))
    }

    /// Long responses go on in a file.
    fn spill(&mut self) -> io::Result<()> {
        if self.received.len() <= SPOOL_ABOVE {
            return Ok(());
        }
        let spooled = match &mut self.spooled {
            Some(spooled) => spooled,
            none => none.insert(Spooled::begin(&self.spool)?),
        };
        spooled.push(&self.received)?;
        self.received.clear();
        Ok(())
    }
}

/// A response as it was received.
pub(super) struct Received {
    spool: Spool,
    spooled: Option<Spooled>,
    end: Bytes,
}

impl Received {
    /// All of it in memory, as soon as there is room.
    pub(super) async fn whole(self) -> io::Result<Bytes> {
        match self.spooled {
            Some(spooled) => spooled.read_back(&self.spool, &self.end).await,
            None => Ok(self.end),
        }
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
        if tape.len() >= tape.limit as u64 {
            tape.overflowed = true;
            return Poll::Ready(Err(io::Error::other("longer than allowed")));
        }
        let before = tape.received.len();
        let step = buf.remaining().min(READ_STEP);
        if tape.received.capacity() - before < READ_LEAST.min(step) {
            tape.received.reserve(step);
        }
        let mut target = (&mut tape.received).limit(step);
        ready!(pin!(this.stream.read_buf(&mut target)).poll(cx))?;
        tape.total += (tape.received.len() - before) as u64;
        buf.put_slice(&tape.received[before..]);
        if let Err(error) = tape.spill() {
            let told = io::Error::new(error.kind(), error.to_string());
            tape.trouble = Some(error);
            return Poll::Ready(Err(told));
        }
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
