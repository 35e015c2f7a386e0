//! The text of a sitemap, unpacked and decoded piece by piece.
//!
//! Memory does not depend on the file: two buffers, and whatever the reader
//! gathers of one tag or text, which has an allowance. All that is read comes
//! out as UTF-8.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use encoding_rs::{CoderResult, Decoder};
use flate2::bufread::MultiGzDecoder;

use super::charset;
use super::problem::{ProblemKind, Problems};

const PIECE: usize = 32 << 10;
const GZIP: [u8; 2] = [0x1F, 0x8B];

/// A file packed by its author and packed again by a server is still read; one
/// packed more often than that is a joke.
const MAX_LAYERS: usize = 2;

pub(super) struct Source<'a> {
    /// The unpacked bytes, as far as the limit.
    unpacked: Limited<'a>,
    decoder: Decoder,
    raw: Box<[u8]>,
    raw_at: usize,
    raw_end: usize,
    text: Box<[u8]>,
    text_at: usize,
    text_end: usize,
    /// The decoder has given its last, and must not be asked again.
    finished: bool,
    allowance: usize,
    line: u64,
    malformed_at: Option<u64>,
}

/// Bytes up to a limit; what breaks them off is remembered, not told.
struct Limited<'a> {
    reader: Box<dyn Read + 'a>,
    left: u64,
    ended: bool,
    cut: bool,
    broken: bool,
}

impl Limited<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> usize {
        if self.ended {
            return 0;
        }
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let room = buffer.len().min(left);
        // At the limit, one byte more tells whether there is more.
        let mut probe = [0_u8];
        let target = match room {
            0 => &mut probe[..],
            room => &mut buffer[..room],
        };
        let length = self.reader.read(target).unwrap_or_else(|_| {
            self.broken = true;
            0
        });
        if room == 0 {
            (self.ended, self.cut) = (true, length > 0);
            return 0;
        }
        self.ended = length == 0;
        self.left -= length as u64;
        length
    }
}

impl<'a> Source<'a> {
    pub(super) fn open(bytes: &'a [u8], content_type: Option<&str>, max_bytes: u64) -> Source<'a> {
        let (reader, broken) = unpack(bytes);
        let mut unpacked = Limited {
            reader,
            left: max_bytes,
            ended: false,
            cut: false,
            broken,
        };
        let mut raw = vec![0; PIECE].into_boxed_slice();
        let mut raw_end = 0;
        while raw_end < charset::HEAD {
            match unpacked.read(&mut raw[raw_end..]) {
                0 => break,
                length => raw_end += length,
            }
        }
        let head = &raw[..raw_end.min(charset::HEAD)];
        let (encoding, mark) = charset::choose(head, content_type);
        Source {
            unpacked,
            decoder: encoding.new_decoder_without_bom_handling(),
            raw,
            raw_at: mark,
            raw_end,
            text: vec![0; PIECE].into_boxed_slice(),
            text_at: 0,
            text_end: 0,
            finished: false,
            allowance: usize::MAX,
            line: 1,
            malformed_at: None,
        }
    }

    /// The first byte that is no space, not taken out.
    pub(super) fn first_sign(&mut self) -> Option<u8> {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        loop {
            let piece = self.fill_buf().ok()?;
            let first = *piece.first()?;
            let spaces = piece.len() - piece.trim_ascii_start().len();
            let skipped = match spaces {
                0 if piece.starts_with(MARK) => MARK.len(),
                0 => return Some(first),
                spaces => spaces,
            };
            self.consume(skipped);
        }
    }

    /// From here, no more than this may be read before the next call; a longer
    /// read fails.
    pub(super) fn allow(&mut self, bytes: usize) {
        self.allowance = bytes;
    }

    /// The line of the next byte.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    pub(super) fn was_cut(&self) -> bool {
        self.unpacked.cut
    }

    /// What was wrong below the level of markup.
    pub(super) fn tell(&self, problems: &mut Problems) {
        if self.unpacked.broken {
            problems.note(ProblemKind::Gzip, self.line, "");
        }
        if self.unpacked.cut {
            problems.note(ProblemKind::TooManyBytes, self.line, "");
        }
        if let Some(line) = self.malformed_at {
            problems.note(ProblemKind::Encoding, line, self.decoder.encoding().name());
        }
    }

    fn refill(&mut self) {
        while !self.finished {
            if self.raw_at == self.raw_end {
                self.raw_at = 0;
                self.raw_end = self.unpacked.read(&mut self.raw);
            }
            let last = self.raw_at == self.raw_end;
            let input = &self.raw[self.raw_at..self.raw_end];
            let (result, read, written, malformed) =
                self.decoder.decode_to_utf8(input, &mut self.text, last);
            self.raw_at += read;
            (self.text_at, self.text_end) = (0, written);
            if malformed {
                self.malformed_at.get_or_insert(self.line);
            }
            self.finished = last && result == CoderResult::InputEmpty;
            if written > 0 {
                return;
            }
        }
    }
}

/// Gzip is known by its first two bytes, whatever the file is called. Also says
/// whether damage was met at once: a decoder tells of it only once.
fn unpack(bytes: &[u8]) -> (Box<dyn Read + '_>, bool) {
    let mut reader: Box<dyn BufRead + '_> = Box::new(bytes);
    let mut layers = 0;
    loop {
        match reader.fill_buf() {
            Ok(head) if layers < MAX_LAYERS && head.starts_with(&GZIP) => {
                let unpacked = MultiGzDecoder::new(reader);
                reader = Box::new(BufReader::with_capacity(PIECE, unpacked));
                layers += 1;
            }
            Ok(_) => return (Box::new(reader), false),
            Err(_) => return (Box::new(reader), true),
        }
    }
}

impl BufRead for Source<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.text_at == self.text_end {
            self.refill();
        }
        let available = &self.text[self.text_at..self.text_end];
        if self.allowance == 0 && !available.is_empty() {
            return Err(ErrorKind::FileTooLarge.into());
        }
        Ok(&available[..available.len().min(self.allowance)])
    }

    fn consume(&mut self, amount: usize) {
        let taken = &self.text[self.text_at..self.text_at + amount];
        self.line += memchr::memchr_iter(b'\n', taken).count() as u64;
        self.text_at += amount;
        self.allowance = self.allowance.saturating_sub(amount);
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn text(bytes: &[u8], max_bytes: u64) -> (String, Source<'_>) {
        let mut source = Source::open(bytes, None, max_bytes);
        let mut text = String::new();
        source.read_to_string(&mut text).unwrap();
        (text, source)
    }

    #[test]
    fn packed_once_or_twice_it_is_the_same_text() {
        let plain = "http://a.test/\n".repeat(10_000);
        let once = gzip(plain.as_bytes());
        let twice = gzip(&once);
        let members = [gzip(b"http://a.test/\n"), once.clone()].concat();
        for packed in [plain.as_bytes(), &once, &twice] {
            let (text, source) = text(packed, 1 << 20);
            assert!(text == plain && !source.was_cut() && !source.unpacked.broken);
            assert_eq!(source.line(), 10_001);
        }
        assert_eq!(text(&members, 1 << 20).0.len(), plain.len() + 15);
        assert!(text(&gzip(&twice), 1 << 20).0 != plain, "enough is enough");
    }

    #[test]
    fn what_unpacks_to_too_much_is_cut() {
        let bomb = gzip(&gzip(&vec![b'a'; 40 << 20]));
        assert!(bomb.len() < 1000);
        let (cut, source) = text(&bomb, 100_000);
        assert_eq!(cut.len(), 100_000);
        assert!(source.was_cut() && !source.unpacked.broken);
        let exact = gzip(&[b'a'; 1000]);
        assert!(!text(&exact, 1000).1.was_cut());
        assert!(text(&exact, 999).1.was_cut());
    }

    #[test]
    fn damage_keeps_what_came_before() {
        let packed = gzip("http://a.test/\n".repeat(10_000).as_bytes());
        let (some, source) = text(&packed[..packed.len() / 2], 1 << 20);
        assert!(some.starts_with("http://a.test/\n") && source.unpacked.broken);
        let followed = [&packed, &b"<!-- cached -->"[..]].concat();
        let (all, source) = text(&followed, 1 << 20);
        assert!(all.len() == 150_000 && source.unpacked.broken);
        let (none, source) = text(&GZIP, 1 << 20);
        assert!(none.is_empty() && source.unpacked.broken);
    }

    #[test]
    fn encodings_become_utf_8() {
        let wide: Vec<u8> = "\u{feff}<a>ü𝄞"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        assert_eq!(text(&wide, 100).0, "<a>ü𝄞");
        let latin = b"<?xml version='1.0' encoding='latin1'?>\xFC";
        assert!(text(latin, 100).0.ends_with('ü'));
        let (broken, source) = text(b"a\xFFb\xC3", 100);
        assert_eq!(broken, "a\u{fffd}b\u{fffd}");
        assert_eq!(source.malformed_at, Some(1));
    }

    #[test]
    fn an_allowance_is_not_exceeded() {
        let mut source = Source::open(b"  \n\xEF\xBB\xBF abcdef", None, 100);
        assert_eq!(source.first_sign(), Some(b'a'));
        assert_eq!(source.line(), 2);
        source.allow(3);
        let mut read = Vec::new();
        assert!(source.read_to_end(&mut read).is_err());
        assert_eq!(read, b"abc");
        source.allow(3);
        assert!(source.read_to_end(&mut read).is_ok());
    }
}
