//! The ways in which a fetch can end without a document.

use std::net::IpAddr;

/// Why there is no document. Each case has a stable short [`code`](Failure::code)
/// for journals and tables; the texts may change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    #[error("the name does not exist or has no address")]
    NoSuchName,
    #[error("no name server answered in time")]
    DnsTimeout,
    #[error("the name could not be resolved: {0}")]
    Dns(String),
    #[error("no connection within the time-out")]
    ConnectTimeout,
    #[error("the connection was refused")]
    Refused,
    #[error("no connection: {0}")]
    Connect(String),
    #[error("TLS failed: {0}")]
    Tls(String),
    #[error("no complete response header within the time-out")]
    FirstByteTimeout,
    /// The server closed before it sent a byte. On a connection that was used
    /// before, this is how an idle connection dies: the caller may try once
    /// more on a fresh one.
    #[error("the connection was closed before any response")]
    Closed,
    #[error("the connection ended within the response header")]
    HeaderCut,
    #[error("not an HTTP/1 response: {0}")]
    Protocol(String),
    #[error("the response header is too long or has too many fields")]
    HeadersTooLarge,
    #[error("the URL cannot be asked for on this connection: {0}")]
    Unaskable(String),
    #[error(
        "{0} is no address of the public Internet, where the crawl began; \
         special_addresses = \"allow\" opens it"
    )]
    SpecialAddress(IpAddr),
    #[error("the public web is not visited without a contact in the agent")]
    NoContact,
    /// Not the server's fault: the disk that long responses wait on is full
    /// or broken.
    #[error("the response could not be kept while it came in: {0}")]
    Unkept(String),
}

impl Failure {
    /// A short name that stays the same from version to version.
    pub fn code(&self) -> &'static str {
        match self {
            Failure::NoSuchName => "dns-no-such-name",
            Failure::DnsTimeout => "dns-timeout",
            Failure::Dns(_) => "dns",
            Failure::ConnectTimeout => "connect-timeout",
            Failure::Refused => "connect-refused",
            Failure::Connect(_) => "connect",
            Failure::Tls(_) => "tls",
            Failure::FirstByteTimeout => "first-byte-timeout",
            Failure::Closed => "closed",
            Failure::HeaderCut => "header-cut",
            Failure::Protocol(_) => "protocol",
            Failure::HeadersTooLarge => "headers-too-large",
            Failure::Unaskable(_) => "unaskable",
            Failure::SpecialAddress(_) => "special-address",
            Failure::NoContact => "no-contact",
            Failure::Unkept(_) => "unkept",
        }
    }

    /// Whether another address of the name may do better. All of them have
    /// the same certificate.
    pub fn is_of_one_address(&self) -> bool {
        !matches!(self, Failure::Tls(_))
    }

    /// Whether the same request may well succeed at another time.
    pub fn is_transient(&self) -> bool {
        match self {
            Failure::DnsTimeout
            | Failure::Dns(_)
            | Failure::ConnectTimeout
            | Failure::Refused
            | Failure::Connect(_)
            | Failure::FirstByteTimeout
            | Failure::Closed
            | Failure::HeaderCut
            | Failure::Unkept(_) => true,
            Failure::NoSuchName
            | Failure::Tls(_)
            | Failure::Protocol(_)
            | Failure::HeadersTooLarge
            | Failure::Unaskable(_)
            | Failure::SpecialAddress(_)
            | Failure::NoContact => false,
        }
    }
}
