//! How fast pages are read, next to html5ever's tokenizer in the same run:
//! `cargo run --release -p rhumb-page --example extract_speed`

use std::cell::Cell;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use rhumb_page::{Options, Source, extract};
use rhumb_url::Url;

const PAGES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../shared/pages/readability"
);
const ROUNDS: usize = 5;

struct Count(Cell<usize>);

impl TokenSink for Count {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        self.0.set(self.0.get() + 1);
        black_box(&token);
        TokenSinkResult::Continue
    }
}

fn tokenize(text: &str) -> usize {
    let tokenizer = Tokenizer::new(Count(Cell::new(0)), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(text));
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.get()
}

/// The best of some rounds over all pages, in seconds.
fn best(mut round: impl FnMut()) -> f64 {
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            round();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    let Ok(folder) = fs::read_dir(Path::new(PAGES)) else {
        println!("left out: no shared pages here");
        return;
    };
    let bodies: Vec<Vec<u8>> = folder
        .filter_map(|entry| fs::read(entry.ok()?.path()).ok())
        .collect();
    let texts: Vec<_> = bodies.iter().map(|b| String::from_utf8_lossy(b)).collect();
    let url = Url::parse("http://fakehost/test/page.html").expect("a URL");
    let megabytes = bodies.iter().map(Vec::len).sum::<usize>() as f64 / 1e6;

    let rival = best(|| {
        black_box(texts.iter().map(|text| tokenize(text)).sum::<usize>());
    });
    println!(
        "{} pages, {megabytes:.1} MB, best of {ROUNDS} rounds",
        bodies.len()
    );
    println!(
        "{:<34} {:>6.0} MB/s",
        "html5ever tokenizer",
        megabytes / rival
    );
    let pages = Options {
        text: false,
        resources: false,
        ..Options::default()
    };
    let all_links = Options {
        text: false,
        ..Options::default()
    };
    let scan = Options {
        max_links: 0,
        ..all_links.clone()
    };
    for (what, options) in [
        ("scan, nothing resolved", scan),
        ("links to pages", pages),
        ("all links", all_links),
        ("all links and text", Options::default()),
    ] {
        let mut links = 0;
        let seconds = best(|| {
            links = 0;
            for body in &bodies {
                let source = Source {
                    url: &url,
                    body,
                    content_type: Some("text/html"),
                    link_headers: &[],
                    refresh_header: None,
                };
                links += black_box(extract(&source, &options)).links.len();
            }
        });
        println!(
            "{what:<34} {:>6.0} MB/s {:>6.1} times {:>7.1} µs/20 KB {links:>6} links",
            megabytes / seconds,
            rival / seconds,
            seconds * 1e6 * 0.02 / megabytes,
        );
    }
}
