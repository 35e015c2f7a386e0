//! Which media types are worth their bytes.

use crate::SetupError;

/// A list of media ranges: `text/html`, `text/*`, `*/*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedTypes {
    ranges: Vec<(String, String)>,
}

impl WantedTypes {
    /// Read a list such as `["text/html", "text/*"]`; `["*/*"]` is everything.
    pub fn parse<S: AsRef<str>>(list: &[S]) -> Result<WantedTypes, SetupError> {
        let ranges = list.iter().map(|range| parse_range(range.as_ref()));
        Ok(WantedTypes {
            ranges: ranges.collect::<Result<_, _>>()?,
        })
    }

    pub fn all() -> WantedTypes {
        WantedTypes {
            ranges: vec![("*".into(), "*".into())],
        }
    }

    /// Whether a response with this `Content-Type` is wanted. One that is
    /// missing, or that is not a media type at all, says nothing: wanted.
    pub fn wants(&self, content_type: Option<&str>) -> bool {
        let Some((kind, sub)) = content_type.and_then(media_type) else {
            return true;
        };
        self.ranges.iter().any(|(want_kind, want_sub)| {
            (want_kind == "*" || want_kind.eq_ignore_ascii_case(kind))
                && (want_sub == "*" || want_sub.eq_ignore_ascii_case(sub))
        })
    }
}

/// Type and subtype without parameters.
fn media_type(content_type: &str) -> Option<(&str, &str)> {
    // A comma joins what were two header lines; the first one counts.
    let end = content_type.find([';', ',']).unwrap_or(content_type.len());
    let (kind, sub) = content_type[..end].split_once('/')?;
    let (kind, sub) = (kind.trim(), sub.trim());
    (!kind.is_empty() && !sub.is_empty()).then_some((kind, sub))
}

fn parse_range(range: &str) -> Result<(String, String), SetupError> {
    match media_type(range) {
        Some((kind, sub)) if kind != "*" || sub == "*" => {
            Ok((kind.to_ascii_lowercase(), sub.to_ascii_lowercase()))
        }
        _ => Err(SetupError::MediaRange(range.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_match_without_case_and_parameters() {
        let wanted = WantedTypes::parse(&["text/html", "image/*"]).expect("valid");
        for yes in [
            "text/html",
            "Text/HTML; charset=x",
            "image/png",
            " text/html ,x/y",
        ] {
            assert!(wanted.wants(Some(yes)), "{yes}");
        }
        for no in ["text/plain", "application/pdf", "text/htmlx"] {
            assert!(!wanted.wants(Some(no)), "{no}");
        }
    }

    #[test]
    fn what_says_nothing_is_wanted() {
        let wanted = WantedTypes::parse(&["text/html"]).expect("valid");
        for unclear in [None, Some(""), Some("html"), Some(";"), Some("/x")] {
            assert!(wanted.wants(unclear), "{unclear:?}");
        }
    }

    #[test]
    fn everything_and_nonsense() {
        let all = WantedTypes::parse(&["*/*"]).expect("valid");
        assert_eq!(all, WantedTypes::all());
        assert!(all.wants(Some("video/mp4")));
        for bad in ["html", "", "*/html", "/"] {
            assert!(WantedTypes::parse(&[bad]).is_err(), "{bad}");
        }
    }
}
