//! A crawl brings home exactly what can be reached, each once, and nothing
//! that is forbidden; and it knows by itself when it is done.

use crate::support::Simulated;
use crate::support::request_log::assert_complete;

fn crawls_completely(hosts: u32, pages: u64, seed: u64, threads: &str) {
    let web = Simulated::new(hosts, pages, seed);
    let done = web.crawl("crawl", &["--threads", threads]).expect_code(0);
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth("crawl");
    assert_complete(&web);
}

#[test]
fn one_shard_crawls_all_that_can_be_reached_once() {
    crawls_completely(300, 5_000, 1, "1");
    crawls_completely(40, 800, 2, "1");
}

#[test]
fn two_shards_crawl_all_that_can_be_reached_once() {
    crawls_completely(300, 5_000, 3, "2");
    crawls_completely(40, 800, 4, "2");
}

#[test]
fn four_shards_crawl_all_that_can_be_reached_once() {
    crawls_completely(300, 5_000, 5, "4");
    crawls_completely(40, 800, 6, "4");
}

#[test]
fn more_shards_than_sites_crawl_all_that_can_be_reached_once() {
    crawls_completely(3, 120, 7, "9");
}

#[test]
fn a_large_web_is_crawled_completely() {
    crawls_completely(2_000, 50_000, 1, "2");
}

/// Every seed with every number of shards at full size.
#[test]
#[ignore = "takes minutes in a debug build; run it with --release"]
fn large_webs_are_crawled_completely_by_any_number_of_shards() {
    for seed in [11, 12, 13] {
        for threads in ["1", "2", "4"] {
            eprintln!("seed {seed}, {threads} shards");
            crawls_completely(2_000, 50_000, seed, threads);
        }
    }
}

#[test]
fn link_messages_that_find_no_room_are_read_from_the_journal() {
    let web = Simulated::new(60, 1_500, 8);
    let done = web.crawl("crawl", &["--threads", "4", "--set", "exchange_batches=1"]);
    web.assert_counts_are_the_truth(&done.expect_code(0));
    web.assert_lists_are_the_truth("crawl");
    assert_complete(&web);
}

#[test]
fn duplicates_are_those_the_web_was_made_with() {
    let web = Simulated::new(60, 1_500, 9);
    let done = web.crawl("crawl", &["--threads", "2"]).expect_code(0);
    assert_eq!(done.json()["duplicates"], web.duplicates());
    assert!(web.duplicates() >= web.truth.duplicates.len() as u64);
    // A copy names a page with the same bytes.
    let (copy, _) = &web.truth.duplicates[0];
    let same_bytes: Vec<&String> = (web.truth.duplicates.iter())
        .filter(|(_, of)| *of == web.truth.duplicates[0].1)
        .flat_map(|(copy, of)| [copy, of])
        .collect();
    let told: Vec<String> = same_bytes
        .iter()
        .map(|url| web.ask("why", "crawl", &[url, "--json"]).json())
        .filter_map(|why| Some(why["visits"][0]["duplicate_of"].as_str()?.to_owned()))
        .collect();
    assert!(
        !told.is_empty(),
        "neither {copy} nor its likes are called copies"
    );
    assert!(told.iter().all(|url| same_bytes.contains(&url)));
}
