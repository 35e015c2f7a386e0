//! Lists of URLs, one a line.

use std::io::BufRead;

use super::entry::{Entry, SitemapKind};
use super::output::Output;
use super::problem::{NotASitemap, shown};
use super::source::Source;

/// A longer line is no URL; it is read over without being kept.
const MAX_LINE: usize = 64 << 10;

pub(super) fn read(
    source: &mut Source<'_>,
    output: &mut Output<'_>,
) -> Result<SitemapKind, NotASitemap> {
    let mut line = Vec::new();
    let mut beginning = None;
    let mut has_urls = false;
    while !output.done {
        line.clear();
        let number = source.line();
        source.allow(MAX_LINE);
        let whole = source.read_until(b'\n', &mut line).is_ok();
        if !whole {
            source.allow(usize::MAX);
            // It cannot fail without an allowance.
            let _ = source.skip_until(b'\n');
        } else if line.is_empty() {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        // Some have columns behind the URL.
        let first_column = text.trim().split('\t').next().unwrap_or_default();
        let text = first_column.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if text.is_empty() {
            continue;
        }
        beginning.get_or_insert_with(|| shown(text));
        match output.place.resolve_absolute(text) {
            Ok(url) => {
                has_urls = true;
                let entry = Entry {
                    url,
                    last_modified: None,
                    change_frequency: None,
                    priority: None,
                    alternates: Vec::new(),
                };
                output.give(SitemapKind::Text, entry, number);
            }
            Err(why) => output.refuse(text, &why, number),
        }
    }
    match has_urls {
        true => Ok(SitemapKind::Text),
        false => Err(NotASitemap::Unknown(beginning.unwrap_or_default())),
    }
}
