//! Scope, depth and order: which URLs are visited, and in which order.

use std::collections::BTreeSet;

use crate::support::request_log::asked;
use crate::support::simulated::split;
use crate::support::{Simulated, figure, urls};

fn fetched(web: &Simulated, dir: &str, flags: &[&str]) -> BTreeSet<String> {
    web.crawl(dir, flags).expect_code(0);
    urls(&web.dir(dir), "fetched").into_iter().collect()
}

fn out_of_scope(web: &Simulated, dir: &str) -> Vec<String> {
    let listed = web.ask("urls", dir, &["--state", "refused", "--json"]);
    let lines = listed.expect_code(0).lines();
    lines
        .iter()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .filter(|line: &serde_json::Value| line["reason"] == "out-of-scope")
        .map(|line| line["url"].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// Two labels make a registered domain in the simulated web.
fn domain(url: &str) -> &str {
    let name = split(url).0.split(':').next().unwrap_or_default();
    let dots: Vec<usize> = name.match_indices('.').map(|(at, _)| at).collect();
    dots.len()
        .checked_sub(2)
        .map_or(name, |i| &name[dots[i] + 1..])
}

#[test]
fn each_scope_is_wider_than_the_one_before() {
    let web = Simulated::new(30, 600, 91);
    let seed = web.truth.seed_url.clone();
    let host = split(&seed).0.to_owned();
    let same_host = |url: &String| split(url).0 == host;
    let same_domain = |url: &String| domain(url) == domain(&seed);

    let page = fetched(&web, "page", &["--scope", "page"]);
    assert_eq!(page, BTreeSet::from([seed.clone()]));

    let in_host = fetched(&web, "host", &["--scope", "host"]);
    assert!(in_host.iter().all(same_host));
    assert!(in_host.len() > 10);
    assert!(!out_of_scope(&web, "host").iter().any(same_host));

    let in_domain = fetched(&web, "domain", &["--scope", "domain"]);
    assert!(in_domain.iter().all(same_domain));
    assert!(in_domain.is_superset(&in_host) && in_domain.len() > in_host.len());
    assert!(!out_of_scope(&web, "domain").iter().any(same_domain));

    let any = fetched(&web, "any", &["--scope", "any"]);
    assert_eq!(any, web.to_fetch());
    assert_eq!(out_of_scope(&web, "any"), Vec::<String>::new());
}

#[test]
fn the_prefix_scope_stays_in_the_folder_of_its_seed() {
    let web = Simulated::new(5, 600, 92);
    // A page with others in its folder.
    let folder_of = |url: &str| url[..=url.rfind('/').unwrap_or(0)].to_owned();
    let (host, _) = split(&web.truth.seed_url);
    let seed = (web.truth.pages.iter())
        .find(|url| split(url).0 == host && split(url).1.matches('/').count() == 2)
        .expect("a page in a folder");
    let folder = folder_of(seed);
    let mut args = web.go_on_args("crawl", &["--scope", "prefix", "--delay", "0s"]);
    args.push(seed.clone());
    crate::support::run(args).expect_code(0);
    let fetched = urls(&web.dir("crawl"), "fetched");
    assert!(fetched.len() > 1, "nothing but {seed}");
    assert!(fetched.iter().all(|url| url.starts_with(&folder)));
    let left = out_of_scope(&web, "crawl");
    assert!(!left.is_empty() && !left.iter().any(|url| url.starts_with(&folder)));
}

#[test]
fn depth_counts_the_steps_from_the_seed() {
    let web = Simulated::new(20, 400, 93);
    let at = |depth: &str| fetched(&web, &format!("depth-{depth}"), &["--max-depth", depth]);
    let (none, one, two) = (at("0"), at("1"), at("2"));
    assert_eq!(none, BTreeSet::from([web.truth.seed_url.clone()]));
    assert!(one.is_superset(&none) && one.len() > none.len());
    assert!(two.is_superset(&one) && two.len() > one.len());
    assert!(web.to_fetch().is_superset(&two));
    for (url, depth) in [
        (one.difference(&none).next(), 1),
        (two.difference(&one).next(), 2),
    ] {
        let url = url.expect("a page at this depth");
        let why = web.ask("why", "depth-2", &[url, "--json"]).json();
        assert_eq!(figure(&why["visits"][0], "depth"), depth, "{url}");
    }
}

#[test]
fn breadth_first_and_depth_first_visit_the_same_in_another_order() {
    let web = Simulated::new(3, 200, 94);
    let in_order = |order: &str| {
        let before = web.requests().len();
        let flags = [
            "--scope",
            "host",
            "--order",
            order,
            // Time for a page's links to be committed before the next visit.
            "--delay",
            "20ms",
            "--connections",
            "1",
            "--threads",
            "1",
        ];
        web.crawl(order, &flags).expect_code(0);
        asked(&web, &web.requests()[before..])
    };
    let (breadth, depth) = (in_order("bfs"), in_order("dfs"));
    assert_ne!(breadth, depth);
    let set = |list: &[String]| list.iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(set(&breadth), set(&depth));
    // Half-way through, breadth first has stayed nearer to the seed.
    let steps = |list: &[String]| -> u64 {
        let half = &list[..list.len() / 2];
        half.iter()
            .map(|url| web.ask("why", "bfs", &[url, "--json"]).json())
            .map(|why| figure(&why["visits"][0], "depth"))
            .sum()
    };
    assert!(steps(&breadth) < steps(&depth));
}
