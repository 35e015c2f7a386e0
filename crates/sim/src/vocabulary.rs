//! Words and paragraphs. Pages are put together from paragraphs that are
//! written once for the whole web: copying text is what makes the simulated
//! web faster than a crawler.

use crate::hash::{Stream, mix, scale, zipf};
use crate::host::salt;

const WORDS: usize = 8_192;
const PHRASES: usize = 4_096;
const PARAGRAPHS: usize = 2_048;

/// The most frequent words are real ones, so that the text passes for a
/// language.
const FREQUENT: &str = "the of and to in a is that for it as was with be by on not he his but at \
    are this have from or had an they which one you were her all their there would will when who \
    him been has more if no out do so can what up said about other into than its time only could \
    new them man some these then two first may any like now my such make over our even most me";

const ONSETS: [&str; 20] = [
    "b", "br", "c", "d", "f", "g", "gr", "h", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "tr",
    "v", "w",
];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "ou", "ai"];
const CODAS: [&str; 10] = ["", "", "", "n", "r", "l", "s", "t", "nd", "rk"];
/// In windows-1252 each of these is one byte with the number of its letter.
const ACCENTED: [&str; 6] = ["é", "ü", "ñ", "ö", "è", "ç"];

/// Pieces of text, one after the other in one buffer.
struct Pieces {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Pieces {
    fn new() -> Pieces {
        Pieces {
            bytes: Vec::new(),
            ends: vec![0],
        }
    }

    fn add(&mut self, piece: impl IntoIterator<Item = u8>) {
        self.bytes.extend(piece);
        // All pieces together are a few megabytes.
        self.ends.push(self.bytes.len() as u32);
    }

    fn get(&self, r: u64) -> &[u8] {
        let at = scale(r, self.ends.len() as u64 - 1) as usize;
        &self.bytes[self.ends[at] as usize..self.ends[at + 1] as usize]
    }
}

pub struct Vocabulary {
    words: Pieces,
    phrases: Pieces,
    utf8: Pieces,
    windows_1252: Pieces,
}

impl Vocabulary {
    pub fn new(seed: u64) -> Vocabulary {
        let mut chance = Stream::new(mix(seed, salt::VOCABULARY, 0, 0));
        let mut written: Vec<Box<str>> = FREQUENT.split_whitespace().map(Box::from).collect();
        let mut spoken = written.clone();
        while written.len() < WORDS {
            let (plain, accented) = invent(&mut chance);
            written.push(plain);
            spoken.push(accented);
        }
        let mut vocabulary = Vocabulary {
            words: Pieces::new(),
            phrases: Pieces::new(),
            utf8: Pieces::new(),
            windows_1252: Pieces::new(),
        };
        for word in &written {
            vocabulary.words.add(word.bytes());
        }
        let mut text = String::new();
        for _ in 0..PHRASES {
            text.clear();
            write_phrase(&mut chance, &written, &mut text);
            vocabulary.phrases.add(text.bytes());
        }
        for _ in 0..PARAGRAPHS {
            text.clear();
            write_paragraph(&mut chance, &spoken, &mut text);
            vocabulary.utf8.add(text.bytes());
            let narrow = text.chars().map(|c| u8::try_from(c).unwrap_or(b'?'));
            vocabulary.windows_1252.add(narrow);
        }
        vocabulary
    }

    /// Some word of plain letters, all equally likely.
    pub fn word(&self, r: u64) -> &[u8] {
        self.words.get(r)
    }

    /// Two to five words of plain letters.
    pub fn phrase(&self, r: u64) -> &[u8] {
        self.phrases.get(r)
    }

    /// A paragraph of about 500 bytes without markup, quotes or line breaks.
    pub fn paragraph(&self, r: u64, windows_1252: bool) -> &[u8] {
        if windows_1252 {
            self.windows_1252.get(r)
        } else {
            self.utf8.get(r)
        }
    }
}

/// A word as it stands in paths and as it stands in text.
fn invent(chance: &mut Stream) -> (Box<str>, Box<str>) {
    let (mut plain, mut accented) = (String::new(), String::new());
    let accent_at = chance.below(40);
    for syllable in 0..2 + chance.below(2) {
        let onset = ONSETS[chance.below(ONSETS.len() as u64) as usize];
        let vowel = VOWELS[chance.below(VOWELS.len() as u64) as usize];
        let coda = CODAS[chance.below(CODAS.len() as u64) as usize];
        plain.extend([onset, vowel, coda]);
        let vowel = if syllable == accent_at {
            ACCENTED[chance.below(ACCENTED.len() as u64) as usize]
        } else {
            vowel
        };
        accented.extend([onset, vowel, coda]);
    }
    (plain.into(), accented.into())
}

fn write_phrase(chance: &mut Stream, words: &[Box<str>], out: &mut String) {
    for position in 0..2 + chance.below(4) {
        if position > 0 {
            out.push(' ');
        }
        let rank = zipf(chance.next(), words.len() as u64) as usize;
        out.push_str(&words[rank]);
    }
}

fn write_paragraph(chance: &mut Stream, words: &[Box<str>], out: &mut String) {
    for _ in 0..3 + chance.below(6) {
        let start = out.len();
        for position in 0..6 + chance.below(16) {
            if position > 0 {
                out.push_str(if chance.below(12) == 0 { ", " } else { " " });
            }
            let rank = zipf(chance.next(), words.len() as u64) as usize;
            out.push_str(&words[rank]);
        }
        // The first letter of a word is always ASCII.
        if let Some(first) = out.get_mut(start..start + 1) {
            first.make_ascii_uppercase();
        }
        out.push_str(". ");
    }
    out.pop();
}

#[cfg(test)]
mod tests {
    use super::Vocabulary;

    #[test]
    fn both_encodings_hold_the_same_text() {
        let vocabulary = Vocabulary::new(3);
        let mut accents = 0;
        for r in (0..2_048u64).map(|n| n << 53) {
            let wide = std::str::from_utf8(vocabulary.paragraph(r, false)).unwrap();
            let narrow = vocabulary.paragraph(r, true);
            let widened: String = narrow.iter().map(|&b| char::from(b)).collect();
            assert_eq!(wide, widened);
            accents += wide.len() - narrow.len();
        }
        assert!(accents > 1_000);
    }
}
