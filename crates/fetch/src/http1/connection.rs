//! An open connection and the requests it serves, one after another.

use std::cell::RefCell;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use rhumb_url::Url;

use super::exchange::{Exchange, Pipe};
use super::tape::{Recorder, Tape};
use super::{Http1, request};
use crate::stream::Stream;
use crate::{Document, Failure, Validators};

/// A connection to one origin.
///
/// After a [`get`](Connection::get) it is kept for the next one when the
/// response allows it; [`reusable`](Connection::reusable) tells. A server may
/// close a connection that it kept idle at any time, also just when the next
/// request is on its way: that is [`Failure::Closed`], and the caller may try
/// once more on a fresh connection.
pub struct Connection {
    http1: Arc<Http1>,
    origin: Box<str>,
    remote: SocketAddr,
    tape: Rc<RefCell<Tape>>,
    pipe: Option<Box<Pipe>>,
}

impl Connection {
    pub(crate) async fn new(
        http1: Arc<Http1>,
        url: &Url,
        stream: Stream,
        remote: SocketAddr,
    ) -> Result<Connection, Failure> {
        let tape = Rc::new(RefCell::new(Tape::new(http1.config.spool.clone())));
        let recorder = Recorder::new(stream, tape.clone());
        let (sender, driver) = http1
            .builder
            .handshake(recorder)
            .await
            .map_err(|error| Failure::Connect(error.to_string()))?;
        let pipe = Pipe::new(sender, driver, &http1.config);
        Ok(Connection {
            http1,
            origin: url.origin().into(),
            remote,
            tape,
            pipe: Some(Box::new(pipe)),
        })
    }

    /// Ask for a URL of this connection's origin. With `conditional` the
    /// server may answer 304 without a body.
    ///
    /// Dropping the future closes the connection.
    pub async fn get(
        &mut self,
        url: &Url,
        conditional: Option<&Validators>,
    ) -> Result<Document, Failure> {
        self.ask(url, conditional, false).await
    }

    /// Ask for a document that is needed whatever type and length it claims,
    /// such as a robots.txt; of a longer one the beginning is read.
    pub async fn get_of_any_type(&mut self, url: &Url) -> Result<Document, Failure> {
        self.ask(url, None, true).await
    }

    async fn ask(
        &mut self,
        url: &Url,
        conditional: Option<&Validators>,
        any_type: bool,
    ) -> Result<Document, Failure> {
        if url.origin() != &*self.origin {
            return Err(Failure::Unaskable(format!("it leads to {}", self.origin)));
        }
        let request = request::request(&self.http1.template, url, conditional)?;
        // Taken out, so that whatever goes wrong the connection is gone.
        let mut pipe = self.pipe.take().ok_or(Failure::Closed)?;
        let exchange = Exchange {
            config: &self.http1.config,
            tape: &self.tape,
            remote: self.remote,
            any_type,
        };
        let (document, complete) = exchange.run(&mut pipe, request, url).await?;
        // hyper ends a keep-alive turn in the poll after the last byte.
        if complete && poll_fn(|cx| Poll::Ready(pipe.poll_idle(cx))).await {
            self.pipe = Some(pipe);
        }
        Ok(document)
    }

    /// Look whether the server has closed an idle connection meanwhile. Asks
    /// nothing of it.
    pub async fn is_still_open(&mut self) -> bool {
        let Some(pipe) = &mut self.pipe else {
            return false;
        };
        let open = poll_fn(|cx| Poll::Ready(pipe.poll_idle(cx))).await;
        if !open {
            self.pipe = None;
        }
        open
    }

    /// Whether another request may be sent; the server may still have closed
    /// its side since.
    pub fn reusable(&self) -> bool {
        self.pipe.is_some()
    }

    /// Bytes received on it so far, whatever came of them.
    pub fn received(&self) -> u64 {
        self.tape.borrow().total()
    }

    pub fn remote(&self) -> SocketAddr {
        self.remote
    }
}
