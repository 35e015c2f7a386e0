//! How long it takes to make a page, measured against copying as many bytes:
//! `cargo run --release -p rhumb-sim --example page_speed`

use std::hint::black_box;
use std::time::Instant;

use rhumb_sim::{Web, WebConfig};

const PAGES: usize = 20_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let web = Web::new(&WebConfig {
        hosts: 1_000,
        pages: 1_000_000,
        seed: 1,
        port: 8080,
    })?;
    let began = Instant::now();
    let truth = Web::new(&WebConfig {
        hosts: 500,
        pages: 50_000,
        seed: 1,
        port: 8080,
    })?
    .truth();
    let links = truth.links as f64 / truth.pages.len() as f64;
    println!("truth of 50,000 pages: {:.2?}", began.elapsed());
    println!("links a page: {links:.1}");
    // Home pages and their neighbours on hosts of all sizes.
    let name = web.host_name(0);
    let text = String::from_utf8(web.response(&name, "/sitemap-1.xml", false).body)?;
    let start = format!("<loc>http://{name}:8080");
    let paths: Vec<&str> = text
        .split(start.as_str())
        .skip(1)
        .filter_map(|part| part.split('<').next())
        .collect();
    let targets: Vec<(String, &str)> = (0..PAGES)
        .map(|n| match paths.get(n / 2 % paths.len().max(1)) {
            Some(path) if n % 2 == 0 => (name.clone(), *path),
            _ => (web.host_name((n % 1_000) as u32), "/"),
        })
        .collect();
    let (mut bytes, began) = (0, Instant::now());
    for (host, path) in &targets {
        bytes += black_box(web.response(host, path, false)).body.len();
    }
    let made = began.elapsed();
    let source = vec![7u8; bytes / PAGES];
    let began = Instant::now();
    for _ in 0..PAGES {
        black_box(black_box(&source).clone());
    }
    let copied = began.elapsed();
    println!("mean size: {} bytes", bytes / PAGES);
    println!("a page: {:.2?}", made / PAGES as u32);
    println!("a copy of it: {:.2?}", copied / PAGES as u32);
    Ok(())
}
