//! What resolving a link costs, the plain way and through the full parser:
//! `cargo run --release -p rhumb-url --example join_cost`

use std::hint::black_box;
use std::time::Instant;

use rhumb_url::{Base, Url};

const ROUNDS: u32 = 20_000;

const LINKS: [(&str, &[&str]); 4] = [
    (
        "own host, absolute",
        &[
            "https://www.example.org/news/2024/05/a-longer-title-of-a-page.html",
            "https://www.example.org/shop/item?id=1234&ref=list",
        ],
    ),
    (
        "other host",
        &[
            "https://static.example.net/a/b/c/picture.jpg",
            "http://blog.example.com/archive/2019/",
        ],
    ),
    (
        "path",
        &["/about/contact.html", "/wiki/Special:Search?go=1"],
    ),
    ("relative", &["next.html", "chapter-2/part_3.html#top"]),
];

fn nanos(links: &[&str], mut join: impl FnMut(&str)) -> f64 {
    let start = Instant::now();
    for _ in 0..ROUNDS {
        for link in links {
            join(black_box(link));
        }
    }
    start.elapsed().as_nanos() as f64 / f64::from(ROUNDS) / links.len() as f64
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let page = "https://www.example.org/news/2024/05/index.html";
    let url = Url::parse(page)?;
    let base = Base::new(&url);
    let parser = url::Url::parse(page)?;
    println!(
        "{:<20} {:>9} {:>12} {:>7}",
        "link", "rhumb ns", "url crate ns", "ratio"
    );
    for (kind, links) in LINKS {
        let ours = nanos(links, |link| {
            black_box(base.join(link).is_ok());
        });
        let full = nanos(links, |link| {
            black_box(parser.join(link).is_ok());
        });
        println!("{kind:<20} {ours:>9.0} {full:>12.0} {:>7.1}", full / ours);
    }
    let ours = nanos(&[page], |text| {
        black_box(Url::parse(text).is_ok());
    });
    let stored = nanos(&[page], |text| {
        black_box(Url::from_normal(text).is_ok());
    });
    let full = nanos(&[page], |text| {
        black_box(url::Url::parse(text).is_ok());
    });
    println!(
        "{:<20} {ours:>9.0} {full:>12.0} {:>7.1}",
        "parse",
        full / ours
    );
    println!(
        "{:<20} {stored:>9.0} {full:>12.0} {:>7.1}",
        "read what was stored",
        full / stored
    );
    Ok(())
}
