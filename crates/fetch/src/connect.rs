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

/// Opens connections; one for each shard.
pub struct Fetcher {
    http1: Arc<Http1>,
    tls: TlsConnector,
}

impl Fetcher {
    /// More addresses than this are not tried: a name can have thousands.
    pub const MAX_TRIES: usize = 4;

    pub fn new(config: FetchConfig) -> Result<Fetcher, SetupError> {
        Ok(Fetcher {
            tls: tls::connector(config.verify_tls)?,
            http1: Arc::new(Http1::new(config)?),
        })
    }

    /// Try the addresses in turn, a few at most, and give the first that
    /// answers. When none does, the first one's failure is told.
    pub async fn connect(&self, url: &Url, addresses: &[IpAddr]) -> Result<Connection, Failure> {
        let mut failure = None;
        for address in addresses.iter().take(Fetcher::MAX_TRIES) {
            match self.connect_to(url, *address).await {
                Err(reason) if !reason.is_of_one_address() => return Err(reason),
                Err(reason) => failure.get_or_insert(reason),
                connected => return connected,
            };
        }
        Err(failure.unwrap_or_else(|| Failure::Connect("there is no address".to_owned())))
    }

    /// Connect to one address of a URL's name.
    pub async fn connect_to(&self, url: &Url, address: IpAddr) -> Result<Connection, Failure> {
        self.http1.config.guard.check(address)?;
        let remote = SocketAddr::new(address, url.port());
        let limit = self.http1.config.connect_timeout;
        let stream = timeout(limit, self.open(url, remote))
            .await
            .map_err(|_elapsed| Failure::ConnectTimeout)??;
        Connection::new(self.http1.clone(), url, stream, remote).await
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
