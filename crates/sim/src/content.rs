//! What is served that is not an HTML page: texts, data, feeds, media, and
//! the files that pages are decorated with.

use crate::hash::{Stream, mix};
use crate::host::{Host, salt};
use crate::path::{DocumentKind, write_number};
use crate::slot::Slot;
use crate::web::Web;

/// One grey pixel.
const PNG: &[u8] = b"\
    \x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x01\
    \x00\x00\x00\x01\x08\x00\x00\x00\x00\x3a\x7e\x9b\x55\x00\x00\x00\x0a\x49\x44\x41\
    \x54\x78\x9c\x63\x68\x00\x00\x00\x82\x00\x81\x77\xcd\x72\xb6\x00\x00\x00\x00\x49\
    \x45\x4e\x44\xae\x42\x60\x82";

const MEDIA: [&str; 4] = [
    "image/png",
    "application/pdf",
    "video/mp4",
    "application/octet-stream",
];
const FEEDS: [&str; 4] = [
    "application/rss+xml",
    "text/xml; charset=utf-8",
    "application/xml",
    "application/atom+xml",
];

impl Web {
    /// Write a document and name its type.
    pub(crate) fn write_document(
        &self,
        host: &Host,
        number: u64,
        out: &mut Vec<u8>,
    ) -> &'static str {
        let slot = Slot::Document(number);
        let id = mix(self.seed, salt::TEXT, host.content.into(), slot.key());
        let mut chance = Stream::new(id);
        match self.document_kind(host, number) {
            DocumentKind::Text => {
                write_number(id, out);
                for _ in 0..2 + chance.below(12) {
                    out.extend_from_slice(b"\n\n");
                    out.extend_from_slice(self.vocabulary.paragraph(chance.next(), false));
                }
                out.push(b'\n');
                "text/plain; charset=utf-8"
            }
            DocumentKind::Json => {
                // As text: as a number it would be too large for most readers.
                out.extend_from_slice(b"{\"id\": \"");
                write_number(id, out);
                out.extend_from_slice(b"\", \"notes\": [");
                for position in 0..1 + chance.below(10) {
                    out.extend_from_slice(if position > 0 { b"\", \"" } else { b"\"" });
                    out.extend_from_slice(self.vocabulary.paragraph(chance.next(), false));
                }
                out.extend_from_slice(b"\"]}\n");
                "application/json"
            }
            DocumentKind::Feed => {
                let kind = FEEDS[(id % 4) as usize];
                if kind == "application/atom+xml" {
                    self.write_atom(host, id, &mut chance, out);
                } else {
                    self.write_rss(host, id, &mut chance, out);
                }
                kind
            }
            DocumentKind::Media => {
                let kind = MEDIA[(id % 4) as usize];
                match kind {
                    "image/png" => out.extend_from_slice(PNG),
                    "application/pdf" => {
                        out.extend_from_slice(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n");
                        write_noise(&mut chance, out);
                        out.extend_from_slice(b"\n%%EOF\n");
                    }
                    _ => write_noise(&mut chance, out),
                }
                kind
            }
        }
    }

    /// Feeds lead only to pages of the host's tree, which its pages lead to
    /// as well: whether a crawler reads feeds does not change what it reaches.
    fn write_rss(&self, host: &Host, id: u64, chance: &mut Stream, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<rss version=\"2.0\"><channel><title>",
        );
        write_number(id, out);
        out.extend_from_slice(b"</title><link>/</link>\n");
        for _ in 0..1 + chance.below(10) {
            out.extend_from_slice(b"<item><title>");
            out.extend_from_slice(self.vocabulary.phrase(chance.next()));
            out.extend_from_slice(b"</title><link>");
            self.write_path(host, Slot::Page(chance.below(host.pages())), out);
            out.extend_from_slice(b"</link><description>");
            out.extend_from_slice(self.vocabulary.paragraph(chance.next(), false));
            out.extend_from_slice(b"</description></item>\n");
        }
        out.extend_from_slice(b"</channel></rss>\n");
    }

    fn write_atom(&self, host: &Host, id: u64, chance: &mut Stream, out: &mut Vec<u8>) {
        out.extend_from_slice(
            b"<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
              <feed xmlns=\"http://www.w3.org/2005/Atom\"><title>",
        );
        write_number(id, out);
        out.extend_from_slice(b"</title><link href=\"/\"/>\n");
        for _ in 0..1 + chance.below(10) {
            out.extend_from_slice(b"<entry><link href=\"");
            self.write_path(host, Slot::Page(chance.below(host.pages())), out);
            out.extend_from_slice(b"\"/><summary>");
            out.extend_from_slice(self.vocabulary.paragraph(chance.next(), false));
            out.extend_from_slice(b"</summary></entry>\n");
        }
        out.extend_from_slice(b"</feed>\n");
    }

    /// Styles, scripts and images that pages refer to, by path.
    pub(crate) fn write_decoration(&self, path: &str, out: &mut Vec<u8>) -> Option<&'static str> {
        let number = |text: &str| text.parse::<u8>().is_ok();
        if let Some(name) = path.strip_prefix("/img/") {
            number(name.strip_suffix(".png")?).then_some(())?;
            out.extend_from_slice(PNG);
            return Some("image/png");
        }
        let name = path.strip_prefix("/static/")?;
        if let Some(style) = name.strip_suffix(".css") {
            number(style.strip_prefix('s')?).then_some(())?;
            out.extend_from_slice(b"body { margin: 2em; background: url(/img/1.png) }\n");
            return Some("text/css");
        }
        number(name.strip_suffix(".js")?.strip_prefix("app")?).then_some(())?;
        out.extend_from_slice(b"document.title += \"!\";\n");
        Some("text/javascript")
    }

    /// Whether the crawler's default types leave a document out.
    pub(crate) fn is_unwanted(&self, host: &Host, slot: Slot) -> bool {
        match slot {
            Slot::Document(n) => self.document_kind(host, n) == DocumentKind::Media,
            _ => false,
        }
    }
}

fn write_noise(chance: &mut Stream, out: &mut Vec<u8>) {
    for _ in 0..100 + chance.below(2_000) {
        out.extend_from_slice(&chance.next().to_le_bytes());
    }
}
