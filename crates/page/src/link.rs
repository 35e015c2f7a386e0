//! A link as it was found: where it leads, which place held it, what it says.

use std::fmt;
use std::str::FromStr;

use rhumb_url::{Refusal, Url};

/// One link of a page, in the order in which the page has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub target: Target,
    pub kind: LinkKind,
    /// The `rel` words in lower case, one space between them; empty if none.
    pub rel: String,
    /// What the page says about the link: the text inside an `a`, or the
    /// `alt` or `title` of another element.
    pub anchor: String,
    /// Whether the target has the page's own host name.
    pub internal: bool,
}

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Url(Url),
    /// The crawl cannot hold it. `text` is the beginning of what the page had,
    /// and of a URL that is too long what stands for it
    /// ([`Url::stand_in`](rhumb_url::Url::stand_in)).
    Refused {
        text: String,
        why: Refusal,
    },
}

impl Target {
    pub fn url(&self) -> Option<&Url> {
        match self {
            Target::Url(url) => Some(url),
            Target::Refused { .. } => None,
        }
    }
}

macro_rules! link_kinds {
    ($($(#[$note:meta])* $kind:ident = $code:literal $name:literal,)*) => {
        /// Which place held the link. Codes and names are written into journals
        /// and tables: a kind may be added, none may change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum LinkKind {
            $($(#[$note])* $kind = $code,)*
        }

        impl LinkKind {
            pub const ALL: &'static [LinkKind] = &[$(LinkKind::$kind),*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(LinkKind::$kind => $name,)*
                }
            }

            pub fn from_code(code: u8) -> Option<LinkKind> {
                match code {
                    $($code => Some(LinkKind::$kind),)*
                    _ => None,
                }
            }
        }

        impl FromStr for LinkKind {
            type Err = UnknownLinkKind;

            fn from_str(name: &str) -> Result<LinkKind, UnknownLinkKind> {
                match name {
                    $($name => Ok(LinkKind::$kind),)*
                    _ => Err(UnknownLinkKind(name.to_owned())),
                }
            }
        }
    };
}

link_kinds! {
    /// `<a href>`
    A = 0 "a",
    /// `<area href>`
    Area = 1 "area",
    /// `<link href>` that is not the canonical one
    Link = 2 "link",
    /// `<iframe src>`
    Iframe = 3 "iframe",
    /// `<frame src>`
    Frame = 4 "frame",
    /// `<img src>`, `<input type=image src>`
    Img = 5 "img",
    /// One candidate of a `srcset` or `imagesrcset`
    Srcset = 6 "srcset",
    /// `<meta http-equiv=refresh>` or the `Refresh` header
    Refresh = 7 "refresh",
    /// `<link rel=canonical href>`
    Canonical = 8 "canonical",
    /// The HTTP `Link` header
    Header = 9 "header",
    /// `<script src>`
    Script = 10 "script",
    /// `<embed src>`
    Embed = 11 "embed",
    /// `<object data>`
    Object = 12 "object",
    /// `src` of `video`, `audio`, `source` and `track`, `poster` of `video`
    Media = 13 "media",
    /// `href` (or `xlink:href`) on any other element
    Other = 14 "other",
    /// The `Location` of a redirect
    Redirect = 15 "redirect",
    /// An entry of a sitemap or feed
    Sitemap = 16 "sitemap",
}

impl LinkKind {
    /// The stable number of this kind.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for LinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind of link")]
pub struct UnknownLinkKind(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_lead_back_to_the_kind() {
        for &kind in LinkKind::ALL {
            assert_eq!(LinkKind::from_code(kind.code()), Some(kind));
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert_eq!(LinkKind::from_code(255), None);
        assert!("anchor".parse::<LinkKind>().is_err());
    }
}
