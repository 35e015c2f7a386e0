//! The encoding a page names in a `meta` element, by the prescan of the HTML
//! standard: it runs on bytes whose encoding is not yet known.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::{memchr, memmem};

use crate::attributes::{Attribute, Attributes, is_space};

pub(crate) fn meta_charset(prefix: &[u8]) -> Option<&'static Encoding> {
    let mut attributes = Attributes::default();
    let mut at = 0;
    loop {
        at += memchr(b'<', &prefix[at..])?;
        let rest = &prefix[at..];
        let name = match rest {
            [b'<', b'!', b'-', b'-', ..] => {
                at += 2 + memmem::find(&rest[2..], b"-->")? + 3;
                continue;
            }
            [b'<', b'!' | b'?', ..] => {
                at += memchr(b'>', rest)? + 1;
                continue;
            }
            [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => 2,
            [b'<', b'/', ..] => {
                at += memchr(b'>', rest)? + 1;
                continue;
            }
            [b'<', letter, ..] if letter.is_ascii_alphabetic() => 1,
            _ => {
                at += 1;
                continue;
            }
        };
        let length = rest[name..]
            .iter()
            .position(|b| is_space(*b) || matches!(b, b'/' | b'>'))?;
        let is_meta = name == 1 && rest[1..1 + length].eq_ignore_ascii_case(b"meta");
        at = attributes.read(prefix, at + name + length)?.after;
        if is_meta && let Some(encoding) = encoding_of(prefix, &attributes) {
            return Some(encoding);
        }
    }
}

fn encoding_of(bytes: &[u8], attributes: &Attributes) -> Option<&'static Encoding> {
    let value = |attribute| attributes.get(attribute).map(|place| &bytes[place]);
    let label = match value(Attribute::Charset) {
        Some(label) => label,
        None => {
            let pragma = value(Attribute::HttpEquiv)?;
            if !pragma.eq_ignore_ascii_case(b"content-type") {
                return None;
            }
            charset_in(value(Attribute::Content)?)?
        }
    };
    let encoding = Encoding::for_label(label)?;
    // Bytes in which the `meta` could be read are not UTF-16.
    Some(if encoding == UTF_16BE || encoding == UTF_16LE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    })
}

/// The label behind `charset=` in `text/html; charset=utf-8`.
pub(crate) fn charset_in(content: &[u8]) -> Option<&[u8]> {
    const WORD: &[u8] = b"charset";
    let mut rest = content;
    loop {
        let at = rest
            .windows(WORD.len())
            .position(|found| found.eq_ignore_ascii_case(WORD))?;
        rest = rest[at + WORD.len()..].trim_ascii_start();
        if let Some(value) = rest.strip_prefix(b"=") {
            rest = value.trim_ascii_start();
            break;
        }
    }
    match rest {
        [quote @ (b'"' | b'\''), quoted @ ..] => memchr(*quote, quoted).map(|end| &quoted[..end]),
        _ => {
            let end = rest
                .iter()
                .position(|b| is_space(*b) || *b == b';')
                .unwrap_or(rest.len());
            (end > 0).then(|| &rest[..end])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_says_about_its_encoding() {
        for (page, name) in [
            ("<meta charset=gbk>", Some("GBK")),
            ("<META CHARSET = 'Latin1' />", Some("windows-1252")),
            (
                "<meta content='text/html; charset=euc-jp' http-equiv=Content-Type>",
                Some("EUC-JP"),
            ),
            ("<meta content='text/html; charset=euc-jp'>", None),
            ("<meta charset=utf-16>", Some("UTF-8")),
            ("<!-- <meta charset=gbk> -->", None),
            ("<!--><meta charset=gbk>", Some("GBK")),
            ("<a title='<meta charset=gbk>'>", None),
            ("<meta charset=nonsense><meta charset=big5>", Some("Big5")),
            ("<metacharset=gbk>", None),
            ("<meta charset=gbk", None),
        ] {
            let found = meta_charset(page.as_bytes()).map(Encoding::name);
            assert_eq!(found, name, "{page}");
        }
    }

    #[test]
    fn charset_of_a_content_type() {
        for (content, label) in [
            ("text/html; charset=utf-8", Some("utf-8")),
            ("text/html;charset = \"utf-8\"; x", Some("utf-8")),
            ("text/html; charset='utf-8", None),
            ("text/html; charset charset=a;b", Some("a")),
            ("text/html; charset=", None),
        ] {
            let found = charset_in(content.as_bytes());
            assert_eq!(found, label.map(str::as_bytes), "{content}");
        }
    }
}
