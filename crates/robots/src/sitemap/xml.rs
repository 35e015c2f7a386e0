//! XML sitemaps and feeds.
//!
//! The XML reader splits the file into tags and texts; what belongs to what is
//! decided in [`Reading`], so that broken files can be read too. It expands no
//! entities but the five of XML itself, and includes nothing.

use std::io::BufRead;

use quick_xml::Reader;
use quick_xml::errors::{Error, SyntaxError};
use quick_xml::events::Event;

use super::entry::SitemapKind;
use super::output::Output;
use super::problem::{NotASitemap, ProblemKind};
use super::reading::Reading;
use super::source::Source;

/// The longest tag, text, comment or declaration; reading ends at a longer one,
/// because the XML reader holds it in memory as a whole.
const MAX_PIECE: usize = 1 << 20;

/// The XML reader remembers the names of all open elements, without a limit.
/// A new one takes over when it has seen this much of them.
const MAX_NAMES: usize = 64 << 10;

pub(super) fn read(
    source: &mut Source<'_>,
    output: &mut Output<'_>,
) -> Result<SitemapKind, NotASitemap> {
    let mut reading = Reading::new(output);
    let mut reader = patient_reader(source);
    let mut piece = Vec::new();
    let mut names = 0;
    while !reading.output.done {
        piece.clear();
        reader.get_mut().allow(MAX_PIECE);
        reading.line = reader.get_ref().line();
        match reader.read_event_into(&mut piece) {
            Ok(Event::Start(tag)) => {
                names += tag.name().as_ref().len() + size_of::<usize>();
                reading.start(&tag)?;
            }
            Ok(Event::Empty(tag)) => {
                reading.start(&tag)?;
                reading.end(tag.name().as_ref());
            }
            Ok(Event::End(tag)) => reading.end(tag.name().as_ref()),
            Ok(Event::Text(text)) => reading.text(&text),
            Ok(Event::CData(text)) => reading.cdata(&text),
            Ok(Event::GeneralRef(name)) => reading.reference(&name),
            Ok(Event::DocType(_)) => reading.has_doctype = true,
            Ok(Event::Comment(_) | Event::PI(_) | Event::Decl(_)) => reading.after_text = false,
            Ok(Event::Eof) => {
                reading.output.truncated |= reader.get_ref().was_cut();
                reading.finish(reading.after_text);
                break;
            }
            Err(Error::Io(_)) => {
                reading.note(ProblemKind::TooLong, "");
                reading.output.truncated = true;
                reading.finish(true);
                break;
            }
            Err(Error::Syntax(SyntaxError::InvalidBangMarkup)) => {
                reading.note(ProblemKind::Markup, "`<!` begins nothing known");
                let source = reader.into_inner();
                source.allow(usize::MAX);
                // It cannot fail without an allowance.
                let _ = source.skip_until(b'>');
                reader = patient_reader(source);
            }
            Err(Error::IllFormed(why)) => reading.note(ProblemKind::Markup, &why.to_string()),
            // All others are tags that do not end before the file does.
            Err(why) => {
                reading.output.truncated |= reader.get_ref().was_cut();
                reading.finish(matches!(why, Error::Syntax(SyntaxError::UnclosedCData)));
                break;
            }
        }
        if names > MAX_NAMES {
            reader = patient_reader(reader.into_inner());
            names = 0;
        }
    }
    reading.kind.ok_or(NotASitemap::NoElement)
}

fn patient_reader<R: BufRead>(source: R) -> Reader<R> {
    let mut reader = Reader::from_reader(source);
    let config = reader.config_mut();
    config.allow_dangling_amp = true;
    config.allow_unmatched_ends = true;
    config.check_end_names = false;
    reader
}
