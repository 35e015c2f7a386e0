//! Why a reference is not a URL that the crawl can hold.

/// The longest part of a foreign scheme worth repeating.
const MAX_SCHEME_SHOWN: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("not a URL: {0}")]
    Malformed(String),
    #[error("scheme `{0}` is not crawled")]
    Scheme(String),
    #[error("it carries a user name or password")]
    Credentials,
    #[error("it names no host")]
    NoHost,
    #[error("longer than {limit} bytes")]
    TooLong { limit: usize },
}

impl Refusal {
    /// What whoever typed it can do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Refusal::Malformed(_) => "write a URL such as https://example.org/page, one a line",
            Refusal::Scheme(_) => "only http and https are crawled",
            Refusal::Credentials => "write it without them, as https://example.org/page",
            Refusal::NoHost => "begin with a host name, as https://example.org/page",
            Refusal::TooLong { .. } => "give a shorter URL that leads there",
        }
    }
}

impl From<url::ParseError> for Refusal {
    fn from(error: url::ParseError) -> Refusal {
        match error {
            url::ParseError::EmptyHost => Refusal::NoHost,
            other => Refusal::Malformed(other.to_string()),
        }
    }
}

/// The refusal of a reference whose scheme is neither http nor https, found
/// without parsing the rest: a `data:` reference can be megabytes long.
///
/// Tabs and line ends are passed over, as browsers do: `java\nscript:` is a
/// script. The caller has trimmed the reference.
pub(crate) fn foreign_scheme(reference: &str) -> Option<Refusal> {
    let mut scheme = String::new();
    for byte in reference.bytes() {
        match byte {
            b'\t' | b'\n' | b'\r' => {}
            b':' => {
                return match scheme.as_str() {
                    "" | "http" | "https" => None,
                    _ => Some(Refusal::Scheme(scheme)),
                };
            }
            _ if byte.is_ascii_alphabetic()
                || (!scheme.is_empty()
                    && (byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.'))) =>
            {
                if scheme.len() < MAX_SCHEME_SHOWN {
                    scheme.push(byte.to_ascii_lowercase() as char);
                }
            }
            _ => return None,
        }
    }
    None
}
