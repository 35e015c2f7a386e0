//! What a question costs, for files of several sizes and a hostile one:
//! `cargo run --release -p rhumb-robots --example check_cost`

use std::hint::black_box;
use std::time::Instant;

use rhumb_robots::Rules;

fn file(rules: usize) -> String {
    let mut text = String::from("user-agent: *\n");
    for number in 0..rules {
        let line = match number % 10 {
            0 => format!("allow: /section{number}/public/\n"),
            1 => format!("disallow: /*&session{number}=\n"),
            2 => format!("disallow: /files/{number}/*.pdf$\n"),
            _ => format!("disallow: /section{number}/\n"),
        };
        text.push_str(&line);
    }
    text
}

fn measure(name: &str, text: &str, path: &str, rounds: u32) {
    let start = Instant::now();
    let rules = Rules::parse(text.as_bytes(), "rhumb");
    let parse = start.elapsed();
    let start = Instant::now();
    for _ in 0..rounds {
        black_box(rules.check(black_box(path)).allowed);
    }
    let check = start.elapsed().as_nanos() as f64 / f64::from(rounds);
    println!("{name:<28} parse {parse:>10.1?}  check {check:>9.0} ns");
}

fn main() {
    let path = "/news/2024/05/a-longer-title-of-a-page.html?ref=list";
    for rules in [0, 10, 50, 500, 10_000] {
        measure(&format!("{rules} rules"), &file(rules), path, 20_000);
    }
    let stars = format!("user-agent: *\ndisallow: /{}b\n", "*a".repeat(1000));
    let many = format!("user-agent: *\n{}", "disallow: /*a*b*c$\n".repeat(10_000));
    let long = format!("/{}", "a".repeat(2000));
    measure("one pattern of 1,000 stars", &stars, &long, 1_000);
    measure("10,000 patterns of 3 stars", &many, &long, 20);
}
