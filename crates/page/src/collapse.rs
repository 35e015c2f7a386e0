//! Text with its white space collapsed and its references decoded.

use crate::references::reference;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Line,
}

/// Collects words up to a number of bytes. White space is written only in
/// front of the next word, so none is at the beginning or the end.
#[derive(Debug)]
pub(crate) struct Collapse {
    out: String,
    gap: Gap,
    limit: usize,
    full: bool,
}

/// Bytes that end a run of bytes to be taken as they are.
static SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    table[0] = true;
    table[b' ' as usize] = true;
    table[b'\t' as usize] = true;
    table[b'\n' as usize] = true;
    table[b'\r' as usize] = true;
    table[b'\x0c' as usize] = true;
    table[b'&' as usize] = true;
    // The first byte of a no-break space.
    table[0xc2] = true;
    table
};

impl Collapse {
    pub(crate) fn new(limit: usize) -> Collapse {
        Collapse {
            out: String::new(),
            gap: Gap::None,
            limit,
            full: limit == 0,
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// What follows is another word.
    pub(crate) fn space(&mut self) {
        self.gap = self.gap.max(Gap::Space);
    }

    /// What follows is on another line.
    pub(crate) fn line(&mut self) {
        self.gap = Gap::Line;
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.collect(text, true);
    }

    /// Add text in which `&` means `&`.
    pub(crate) fn push_verbatim(&mut self, text: &str) {
        self.collect(text, false);
    }

    fn collect(&mut self, text: &str, references: bool) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && !self.full {
            let run = plain_run(&bytes[at..]);
            if run > 0 {
                self.word(&text[at..at + run]);
                at += run;
                continue;
            }
            at += match bytes[at] {
                0 => 1,
                b'&' if references => match reference(&bytes[at..], false) {
                    Some((referent, length)) => {
                        let mut decoded = String::new();
                        referent.push_to(&mut decoded);
                        self.characters(&decoded);
                        length
                    }
                    None => {
                        self.word("&");
                        1
                    }
                },
                b'&' => {
                    self.word("&");
                    1
                }
                0xc2 => {
                    self.characters(&text[at..at + 2]);
                    2
                }
                _ => {
                    self.space();
                    1
                }
            };
        }
    }

    fn characters(&mut self, text: &str) {
        if text
            .chars()
            .all(|c| c.is_ascii_whitespace() || c == '\u{a0}')
        {
            self.space();
        } else {
            self.word(text);
        }
    }

    fn word(&mut self, word: &str) {
        let gap = match self.gap {
            Gap::Space if !self.out.is_empty() => " ",
            Gap::Line if !self.out.is_empty() => "\n",
            _ => "",
        };
        self.gap = Gap::None;
        let room = self.limit.saturating_sub(self.out.len() + gap.len());
        let end = word.floor_char_boundary(room);
        let mut word = word;
        if end < word.len() {
            self.full = true;
            word = word[..end].trim_ascii_end();
            if word.is_empty() {
                return;
            }
        }
        self.out.push_str(gap);
        self.out.push_str(word);
    }

    pub(crate) fn into_string(self) -> String {
        self.out
    }

    /// Take what was collected, and begin anew.
    pub(crate) fn take(&mut self) -> String {
        let text = self.out.as_str().to_owned();
        self.out.clear();
        self.gap = Gap::None;
        self.full = self.limit == 0;
        text
    }
}

/// How many bytes can be taken as they are: words with single spaces between.
fn plain_run(bytes: &[u8]) -> usize {
    let plain = |at: usize| bytes.get(at).is_some_and(|b| !SPECIAL[*b as usize]);
    let mut end = 0;
    loop {
        while plain(end) {
            end += 1;
        }
        if end > 0 && bytes.get(end) == Some(&b' ') && plain(end + 1) {
            end += 1;
        } else {
            return end;
        }
    }
}

/// A value whose references are decoded, with its white space collapsed.
pub(crate) fn collapsed(text: &str, limit: usize) -> String {
    let mut collapse = Collapse::new(limit);
    collapse.push_verbatim(text);
    collapse.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(limit: usize, pieces: &[&str]) -> String {
        let mut collapse = Collapse::new(limit);
        for piece in pieces {
            collapse.push(piece);
        }
        collapse.into_string()
    }

    #[test]
    fn white_space_becomes_one_space() {
        assert_eq!(text(99, &["  a \n\t b", "c  ", " d "]), "a bc d");
        assert_eq!(text(99, &["a&nbsp;\u{a0}b&#32;c"]), "a b c");
        assert_eq!(
            text(99, &["a &amp; b&copy;&unknown; \u{bf}q"]),
            "a & b\u{a9}&unknown; \u{bf}q"
        );
    }

    #[test]
    fn the_limit_cuts_between_characters() {
        assert_eq!(text(4, &["a \u{e9}\u{e9}\u{e9}"]), "a \u{e9}");
        assert_eq!(text(2, &["ab cd"]), "ab");
        assert_eq!(text(3, &["ab cd"]), "ab");
        assert_eq!(text(0, &["ab"]), "");
    }

    #[test]
    fn lines_separate_blocks() {
        let mut collapse = Collapse::new(99);
        collapse.line();
        collapse.push(" a ");
        collapse.line();
        collapse.push(" b");
        assert_eq!(collapse.take(), "a\nb");
        collapse.push("c");
        assert_eq!(collapse.into_string(), "c");
    }
}
