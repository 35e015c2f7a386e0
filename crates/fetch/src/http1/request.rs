//! What is asked, and how the question is written.
//!
//! The headers always stand in this order: `host`, `user-agent`, `accept`,
//! `accept-encoding`, then the configured extra ones in their order, then
//! `if-none-match` and `if-modified-since` when there is something to compare
//! with. An extra header with the name of a default one takes its place. The
//! connection is kept alive by HTTP/1.1's default, without a header.

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, TE, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{Request, Uri};
use http_body_util::Empty;
use rhumb_url::Url;

use crate::{Failure, FetchConfig, SetupError, Validators};

const ACCEPTED: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
/// Every coding the body can be freed from.
const ACCEPTED_CODINGS: &str = "gzip, deflate, br, zstd";

/// Headers that belong to the connection, not to whoever configures it.
const OURS: [HeaderName; 6] = [
    HOST,
    CONNECTION,
    CONTENT_LENGTH,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The headers every request begins with; `host` is a gap to be filled.
pub(super) fn template(config: &FetchConfig) -> Result<HeaderMap, SetupError> {
    let agent = HeaderValue::from_str(&config.agent)
        .map_err(|_| SetupError::Agent(config.agent.clone()))?;
    let mut headers = HeaderMap::with_capacity(8 + config.headers.len());
    headers.insert(HOST, HeaderValue::from_static(""));
    headers.insert(USER_AGENT, agent);
    headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED_CODINGS));
    for (name, value) in &config.headers {
        let refused = || SetupError::Header(name.clone());
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
        let value = HeaderValue::from_str(value).map_err(|_| refused())?;
        if OURS.contains(&header) {
            return Err(refused());
        }
        headers.insert(header, value);
    }
    Ok(headers)
}

pub(super) fn request(
    template: &HeaderMap,
    url: &Url,
    conditional: Option<&Validators>,
) -> Result<Request<Empty<Bytes>>, Failure> {
    let unaskable = |what: &str| Failure::Unaskable(format!("{what} cannot be written"));
    let target = Uri::try_from(url.path_and_query()).map_err(|_| unaskable("its path"))?;
    let host = HeaderValue::from_str(url.authority()).map_err(|_| unaskable("its host"))?;
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = target;
    let headers = request.headers_mut();
    headers.clone_from(template);
    headers.insert(HOST, host);
    if let Some(validators) = conditional {
        let known = [
            (IF_NONE_MATCH, &validators.etag),
            (IF_MODIFIED_SINCE, &validators.last_modified),
        ];
        for (name, value) in known {
            // A validator that cannot be written is as good as none.
            let value = value.as_deref().map(HeaderValue::from_str);
            if let Some(Ok(value)) = value {
                headers.insert(name, value);
            }
        }
    }
    Ok(request)
}
