//! From a URL and its addresses to an open connection.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rhumb_url::{Scheme, Url};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::http1::{Connection, Http1};
use crate::stream::Stream;
use crate::{Failure, FetchConfig, SetupError, tls};

/// More addresses than this are not tried: a name can have thousands.
const MAX_TRIES: usize = 4;

/// Opens connections; one for each shard.
pub struct Fetcher {
    http1: Arc<Http1>,
    tls: TlsConnector,
}

impl Fetcher {
    pub fn new(config: FetchConfig) -> Result<Fetcher, SetupError> {
        Ok(Fetcher {
            tls: tls::connector(config.verify_tls)?,
            http1: Arc::new(Http1::new(config)?),
        })
    }

    /// Try the addresses in turn, a few at most, and give the first that
    /// answers. When none does, the first one's failure is told.
    pub async fn connect(&self, url: &Url, addresses: &[IpAddr]) -> Result<Connection, Failure> {
        let guard = &self.http1.config.guard;
        let mut failure = None;
        for address in addresses.iter().take(MAX_TRIES) {
            if let Err(closed) = guard.check(*address) {
                failure.get_or_insert(closed);
                continue;
            }
            let remote = SocketAddr::new(*address, url.port());
            let limit = self.http1.config.connect_timeout;
            match timeout(limit, self.open(url, remote)).await {
                Ok(Ok(stream)) => {
                    return Connection::new(self.http1.clone(), url, stream, remote).await;
                }
                // The other addresses have the same certificate.
                Ok(Err(reason @ Failure::Tls(_))) => return Err(reason),
                Ok(Err(reason)) => failure.get_or_insert(reason),
                Err(_elapsed) => failure.get_or_insert(Failure::ConnectTimeout),
            };
        }
        Err(failure.unwrap_or_else(|| Failure::Connect("there is no address".to_owned())))
    }

    async fn open(&self, url: &Url, remote: SocketAddr) -> Result<Stream, Failure> {
        let stream = TcpStream::connect(remote).await.map_err(connect_failure)?;
        // A request is one small write: waiting for more helps nobody.
        stream.set_nodelay(true).map_err(connect_failure)?;
        match url.scheme() {
            Scheme::Http => Ok(Stream::Plain(stream)),
            Scheme::Https => {
                let stream = tls::handshake(&self.tls, url, stream).await?;
                Ok(Stream::Tls(Box::new(stream)))
            }
        }
    }
}

fn connect_failure(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Failure::Refused,
        io::ErrorKind::TimedOut => Failure::ConnectTimeout,
        _ => Failure::Connect(error.to_string()),
    }
}
