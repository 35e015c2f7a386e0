//! Files that are sound by themselves but do not agree: `rhumb verify` says
//! where, and `rhumb rebuild` makes the state what the journal says.

use std::path::Path;

use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::support::Simulated;
use crate::support::files::files;

fn read_manifest(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("the manifest");
    serde_json::from_str(text.lines().next().unwrap_or_default()).expect("JSON")
}

/// With the checksum that it should have.
fn write_manifest(path: &Path, manifest: &Value) {
    let json = manifest.to_string();
    let sum = xxh3_64(json.as_bytes());
    std::fs::write(path, format!("{json}\n{sum:016x}\n")).expect("the manifest");
}

#[test]
fn a_state_that_is_not_what_the_journal_says_is_told() {
    let web = Simulated::new(20, 300, 251);
    web.crawl("crawl", &["--max-pages", "60", "--threads", "1"])
        .expect_code(0);
    let state = web.dir("crawl").join("state");
    let path = state.join("manifest.json");
    let (earlier_files, earlier) = (files(&state), read_manifest(&path));
    web.go_on("crawl", &["--max-pages", "120"]).expect_code(0);
    let (good_files, good) = (files(&state), read_manifest(&path));
    let earlier_queue = earlier["shards"][0]["queue"].clone();
    let changes: [(&str, &str, Value); 6] = [
        ("/shards/0/seen", "is not in the URL set", json!([])),
        ("/views/index", "the index does not know", json!([])),
        ("/views/index", "no record admitted it", json!([])),
        ("/shards/0/queue", "URLs counted as waiting", json!([])),
        (
            "/shards/0/counts/urls_seen",
            "URLs counted as seen",
            json!(9),
        ),
        ("/shards/0/queue", "waits, but was visited", earlier_queue),
    ];
    let check = |manifest: &Value, finding: &str| {
        write_manifest(&path, manifest);
        let done = web.ask("verify", "crawl", &[]).expect_code(4);
        assert!(
            done.stdout.contains(finding),
            "no {finding:?}: {}",
            done.stdout
        );
        web.ask("rebuild", "crawl", &[]).expect_code(0);
        web.ask("verify", "crawl", &[]).expect_code(0);
        for (path, bytes) in earlier_files.iter().chain(&good_files) {
            if !path.ends_with("lock") {
                std::fs::write(path, bytes).expect("a file");
            }
        }
    };
    for (path, bytes) in &earlier_files {
        if !good_files.contains_key(path) {
            std::fs::write(path, bytes).expect("an earlier run");
        }
    }
    // Without a change nothing is found, also among files of no use.
    write_manifest(&path, &good);
    web.ask("verify", "crawl", &[]).expect_code(0);
    for (place, finding, value) in changes {
        let mut manifest = good.clone();
        *manifest.pointer_mut(place).expect("a place") = value;
        check(&manifest, finding);
    }
    let mut manifest = good.clone();
    // Each time that it was made again was an epoch.
    let own = manifest.pointer_mut("/shards/0/own/epoch").expect("it");
    *own = json!(own.as_u64().expect("a number") + 100);
    check(&manifest, "ends at record");
}
