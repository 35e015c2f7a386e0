//! In which encoding a file is written.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How much of a file is looked at.
pub(super) const HEAD: usize = 1024;

/// The encoding, and how many bytes of a byte order mark come first.
///
/// The mark decides, then the XML declaration, then the header: whoever wrote
/// the file knows better than a server's default for all its files.
pub(super) fn choose(head: &[u8], content_type: Option<&str>) -> (&'static Encoding, usize) {
    if let Some((encoding, length)) = Encoding::for_bom(head) {
        return (encoding, length);
    }
    let encoding = match head {
        [b'<', 0, ..] => UTF_16LE,
        [0, b'<', ..] => UTF_16BE,
        _ => declared(head)
            .or_else(|| parameter(content_type?))
            .and_then(Encoding::for_label_no_replacement)
            .map_or(UTF_8, Encoding::output_encoding),
    };
    (encoding, 0)
}

/// `encoding="…"` of the XML declaration. That it can be read at all shows that
/// the file is not UTF-16, whatever it says: `output_encoding` makes it UTF-8.
fn declared(head: &[u8]) -> Option<&[u8]> {
    let inside = head.trim_ascii_start().strip_prefix(b"<?xml")?;
    let inside = &inside[..memchr::memchr(b'>', inside)?];
    let at = memchr::memmem::find(inside, b"encoding")?;
    let value = inside[at + b"encoding".len()..].trim_ascii_start();
    let value = value.strip_prefix(b"=")?.trim_ascii_start();
    let (quote, value) = value.split_first()?;
    let quoted = matches!(quote, b'"' | b'\'');
    let end = memchr::memchr(*quote, value)?;
    quoted.then_some(&value[..end])
}

fn parameter(content_type: &str) -> Option<&[u8]> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        is_charset.then(|| value.trim().trim_matches(['"', '\'']).as_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(head: &[u8], content_type: Option<&str>) -> &'static str {
        choose(head, content_type).0.name()
    }

    #[test]
    fn the_mark_wins_then_the_declaration_then_the_header() {
        let header = Some("text/xml; charset=\"ISO-8859-2\"");
        let latin = b"<?xml version='1.0' encoding = 'iso-8859-1' ?><urlset>";
        assert_eq!(name(latin, header), "windows-1252");
        assert_eq!(name(b"  \r\n<?xml version='1.0'?>", header), "ISO-8859-2");
        assert_eq!(name(b"http://a.test/", None), "UTF-8");
        assert_eq!(choose(b"\xEF\xBB\xBF<?xml", header), (UTF_8, 3));
        assert_eq!(choose(b"\xFF\xFEh\0", header), (UTF_16LE, 2));
        assert_eq!(name(b"<\0?\0x\0", header), "UTF-16LE");
        assert_eq!(name(b"\0<\0?\0x", None), "UTF-16BE");
    }

    #[test]
    fn what_cannot_be_true_is_not_believed() {
        let wide = b"<?xml version=\"1.0\" encoding=\"utf-16\"?>";
        assert_eq!(name(wide, None), "UTF-8");
        for odd in [
            &b"<?xml encoding=\"martian\"?>"[..],
            b"<?xml encoding=",
            b"<?xml encoding>",
            b"<?xml encoding=\">",
            b"<?xml encoding=\"hz-gb-2312\"?>",
            b"<?xml",
            b"<",
            b"",
        ] {
            assert_eq!(name(odd, Some("text/xml; charset; charset=")), "UTF-8");
        }
    }
}
