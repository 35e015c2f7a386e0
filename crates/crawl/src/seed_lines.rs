//! The lines of an input of seeds: one URL each, a comment, or a mistake.

use std::io::{self, BufRead};

use rhumb_url::{Refusal, Url};

/// A line longer than this is no URL; it is read over without being kept.
const MAX_LINE: u64 = 16 << 10;

/// One seed, or what is wrong with a line.
pub struct SeedLine {
    /// Counted from one.
    pub number: u64,
    pub text: String,
    pub url: Result<Url, Refusal>,
}

/// A seed as a person writes it. A link on a page may have spaces, and they
/// become part of the URL; in a list, or on the command line, something else
/// stands behind the URL.
pub fn parse(text: &str) -> Result<Url, Refusal> {
    let url = Url::parse_seed(text)?;
    match text.trim().contains(char::is_whitespace) {
        true => Err(Refusal::Malformed(
            "white space stands inside it (a space of a URL is written %20)".to_owned(),
        )),
        false => Ok(url),
    }
}

/// The seeds of one source, line by line.
pub fn seed_lines(
    mut input: Box<dyn BufRead + Send>,
) -> impl Iterator<Item = io::Result<SeedLine>> {
    let mut buffer = Vec::new();
    let mut number = 0;
    let mut failed = false;
    std::iter::from_fn(move || {
        while !failed {
            buffer.clear();
            match read_line(&mut *input, &mut buffer) {
                Err(error) => {
                    // It would fail again, for ever.
                    failed = true;
                    return Some(Err(error));
                }
                Ok(false) => return None,
                Ok(true) => number += 1,
            }
            let text = String::from_utf8_lossy(&buffer);
            let text = text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
            if !text.is_empty() && !text.starts_with('#') {
                return Some(Ok(SeedLine {
                    number,
                    url: parse(text),
                    text: text.to_owned(),
                }));
            }
        }
        None
    })
}

/// Read to the end of the line, keeping at most `MAX_LINE` bytes of it;
/// `false` at the end of the input.
fn read_line(mut input: &mut dyn BufRead, buffer: &mut Vec<u8>) -> io::Result<bool> {
    use io::Read;
    if (&mut input).take(MAX_LINE).read_until(b'\n', buffer)? == 0 {
        return Ok(false);
    }
    if buffer.len() as u64 == MAX_LINE && buffer.last() != Some(&b'\n') {
        input.skip_until(b'\n')?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_seeds_comments_or_mistakes() {
        let long = "x".repeat(100_000);
        let text = format!(
            "\u{feff}http://a.test/\r\n\n# no\n  b.test/x \nhttp://[\n{long}\nhttp://c.test/"
        );
        let lines: Vec<SeedLine> = seed_lines(Box::new(io::Cursor::new(text.into_bytes())))
            .map(Result::unwrap)
            .collect();
        let good: Vec<&str> = lines
            .iter()
            .filter_map(|line| line.url.as_ref().ok())
            .map(Url::as_str)
            .collect();
        assert_eq!(
            good,
            ["http://a.test/", "http://b.test/x", "http://c.test/"]
        );
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn an_input_that_fails_later_is_told_once() {
        struct Broken;
        impl io::Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::Other.into())
            }
        }
        let text = io::Cursor::new(b"http://a.test/\n".to_vec());
        let input = io::BufReader::new(io::Read::chain(text, Broken));
        let lines: Vec<_> = seed_lines(Box::new(input)).take(5).collect();
        assert!(matches!(lines[..], [Ok(_), Err(_)]));
    }
}
