//! Damaged crawl directories: what a crash tears is cut, what somebody broke
//! is told and not touched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::files::files;
use crate::support::{Simulated, figure, urls};

/// A crawl that ended at a limit in several commit groups, and its largest
/// journal segment.
fn crawl_with_journal(web: &Simulated) -> PathBuf {
    web.crawl("crawl", &["--max-pages", "200", "--threads", "2"])
        .expect_code(0);
    let journal = files(&web.dir("crawl").join("journal"));
    let largest = journal.into_iter().max_by_key(|(_, bytes)| bytes.len());
    largest.expect("a journal segment").0
}

/// Where `rhumb verify` finds damage.
fn parts_found(web: &Simulated) -> BTreeSet<String> {
    let done = web.ask("verify", "crawl", &["--json"]).expect_code(4);
    let lines = done.lines();
    let findings = lines
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a line of JSON"))
        .filter(|line| line["severity"] == "damage");
    findings
        .map(|line| line["part"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn verify_says_what_helps_against_each_damage() {
    let web = Simulated::new(10, 100, 68);
    web.crawl("crawl", &["--max-pages", "40"]).expect_code(0);
    for (folder, end, advice) in [
        ("warc", ".warc.gz", "restore the files named above in warc/"),
        ("state", ".run", "`rhumb rebuild` makes it again"),
        ("state", "manifest.json", "`rhumb rebuild` makes it again"),
    ] {
        let all = files(&web.dir("crawl").join(folder));
        let (path, bytes) = all
            .iter()
            .find(|(path, _)| path.display().to_string().ends_with(end))
            .expect("a file");
        let mut spoiled = bytes.clone();
        spoiled[bytes.len() / 2] ^= 0x55;
        std::fs::write(path, spoiled).expect("a file");
        let part = if folder == "warc" { "archive" } else { folder };
        assert_eq!(parts_found(&web), BTreeSet::from([part.to_owned()]));
        let verified = web.ask("verify", "crawl", &[]).expect_code(4).stdout;
        assert!(verified.contains(advice), "no {advice} in {verified}");
        let other = if part == "state" {
            "restore"
        } else {
            "rebuild"
        };
        assert!(!verified.contains(other), "{other} in {verified}");
        std::fs::write(path, bytes).expect("a file");
    }
    web.ask("verify", "crawl", &[]).expect_code(0);
}

#[test]
fn a_journal_damaged_in_the_middle_is_told_and_left_as_it_is() {
    let web = Simulated::new(30, 500, 61);
    let segment = crawl_with_journal(&web);
    let mut bytes = std::fs::read(&segment).expect("the segment");
    // In the first group's body, with good groups behind it.
    bytes[60] ^= 0xff;
    std::fs::write(&segment, &bytes).expect("the segment");
    let before = files(&web.dir("crawl"));
    let asked = web.requests().len();
    let done = web.ask("rebuild", "crawl", &[]).expect_code(4);
    done.assert_stderr_has("is damaged at byte 0");
    done.assert_stderr_has(&segment.display().to_string());
    let done = web.ask("verify", "crawl", &[]).expect_code(4);
    assert!(
        done.stdout.contains("is damaged at byte 0"),
        "{}",
        done.stdout
    );
    // What follows from it is not told as damage to anything else.
    assert_eq!(parts_found(&web), BTreeSet::from(["journal".to_owned()]));
    assert!(done.stdout.contains("restore the files"), "{}", done.stdout);
    assert!(done.stdout.contains("cannot help"), "{}", done.stdout);
    assert!(files(&web.dir("crawl")) == before, "something was changed");
    assert_eq!(web.requests().len(), asked);
    // The state does not need what is behind its checkpoint.
    web.go_on("crawl", &["--max-pages", "200"]).expect_code(0);
}

#[test]
fn a_takedown_that_cannot_be_made_takes_nothing_away() {
    let web = Simulated::new(30, 500, 69);
    let segment = crawl_with_journal(&web);
    let bytes = std::fs::read(&segment).expect("the segment");
    let mut spoiled = bytes.clone();
    spoiled[60] ^= 0xff;
    std::fs::write(&segment, &spoiled).expect("the segment");
    let before = files(&web.dir("crawl"));
    let fetched = web.to_fetch();
    let some_page = fetched.iter().next().expect("a page");
    for what in ["nosuch.test", some_page.as_str()] {
        let done = web.ask("forget", "crawl", &[what]).expect_code(4);
        done.assert_stderr_has("nothing was changed");
        assert!(files(&web.dir("crawl")) == before, "something was changed");
    }
    web.go_on("crawl", &["--max-pages", "220"]).expect_code(0);
}

#[test]
fn a_listing_that_meets_damage_says_so() {
    let web = Simulated::new(30, 500, 71);
    let segment = crawl_with_journal(&web);
    let bytes = std::fs::read(&segment).expect("the segment");
    let whole = urls(&web.dir("crawl"), "fetched");
    let seed = web.truth.seed_url.as_str();
    for at in [0, 60, bytes.len() / 2] {
        let mut spoiled = bytes.clone();
        spoiled[at] ^= 0xff;
        std::fs::write(&segment, &spoiled).expect("the segment");
        for state in ["fetched", "failed", "refused"] {
            let done = web.ask("urls", "crawl", &["--state", state]).expect_code(4);
            done.assert_stderr_has("is damaged at byte");
            done.assert_stderr_has(&segment.display().to_string());
        }
        // What can be read is listed all the same.
        let listed = web.ask("urls", "crawl", &["--state", "fetched"]).lines();
        assert!(!listed.is_empty() && listed.len() < whole.len());
        let done = web.ask("why", "crawl", &[seed, "--links"]).expect_code(4);
        done.assert_stderr_has("is damaged at byte");
        web.ask("forget", "crawl", &["--list"]).expect_code(4);
    }
    // What a kill tears at the end was not committed.
    std::fs::write(&segment, [&bytes[..], &bytes[..50]].concat()).expect("the segment");
    assert_eq!(urls(&web.dir("crawl"), "fetched"), whole);
    web.ask("why", "crawl", &[seed, "--links"]).expect_code(0);
}

#[test]
fn a_journal_that_lost_synced_records_is_told_and_the_state_can_be_made_again() {
    let web = Simulated::new(30, 500, 62);
    let segment = crawl_with_journal(&web);
    let bytes = std::fs::read(&segment).expect("the segment");
    // More than the last record, which says what was synced and is not itself.
    std::fs::write(&segment, &bytes[..bytes.len() - 200]).expect("the segment");
    assert_eq!(parts_found(&web), BTreeSet::from(["journal".to_owned()]));
    let verified = web.ask("verify", "crawl", &[]).expect_code(4).stdout;
    assert!(verified.contains("lost its end"), "{verified}");
    let done = web.go_on("crawl", &[]).expect_code(4);
    done.assert_stderr_has("rhumb rebuild");
    web.ask("rebuild", "crawl", &[]).expect_code(0);
    let done = web.go_on("crawl", &["--max-pages", "none"]).expect_code(0);
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth("crawl");
}

#[test]
fn a_journal_that_is_gone_is_told_and_the_state_can_be_made_again() {
    let web = Simulated::new(30, 500, 69);
    crawl_with_journal(&web);
    // Of the two journals, only the first goes on: both must be there.
    web.go_on("crawl", &["--max-pages", "210", "--threads", "1"])
        .expect_code(0);
    let folder = web.dir("crawl").join("journal");
    let whole = files(&folder);
    let asked = web.requests().len();
    for gone in ["j00000", "j00001", "j"] {
        let names_it = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(gone))
        };
        for path in whole.keys().filter(|path| names_it(path)) {
            std::fs::remove_file(path).expect("a segment");
        }
        let left = files(&folder);
        assert!(left.len() < whole.len());
        let done = web.go_on("crawl", &["--max-pages", "none"]).expect_code(4);
        done.assert_stderr_has("ends at record 0");
        done.assert_stderr_has("rhumb rebuild");
        assert!(files(&folder) == left, "the journal was changed");
        for (path, bytes) in &whole {
            std::fs::write(path, bytes).expect("a segment");
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder");
    web.go_on("crawl", &["--max-pages", "none"]).expect_code(4);
    // From no journal at all nothing is made again: the archive would go.
    let archive = files(&web.dir("crawl").join("warc"));
    let done = web.ask("rebuild", "crawl", &[]).expect_code(4);
    done.assert_stderr_has("restore journal/");
    assert!(files(&web.dir("crawl").join("warc")) == archive);
    assert_eq!(web.requests().len(), asked);
    std::fs::create_dir_all(&folder).expect("the folder");
    for (path, bytes) in whole.iter().filter(|(path, _)| names_first(path)) {
        std::fs::write(path, bytes).expect("a segment");
    }
    web.ask("rebuild", "crawl", &[]).expect_code(0);
}

fn names_first(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("j00000"))
}

#[test]
fn archives_of_others_are_left_alone_and_no_crawl_begins_among_them() {
    let web = Simulated::new(10, 100, 72);
    web.crawl("other", &["--max-pages", "20"]).expect_code(0);
    let theirs = files(&web.dir("other").join("warc"));
    let asked = web.requests().len();
    let folder = web.dir("crawl").join("warc");
    std::fs::create_dir_all(&folder).expect("a folder");
    for (path, bytes) in &theirs {
        std::fs::write(folder.join(path.file_name().expect("a name")), bytes).expect("a file");
    }
    let before = files(&web.dir("crawl"));
    let done = web.crawl("crawl", &[]).expect_code(4);
    done.assert_stderr_has("no journal that could name it");
    done.assert_stderr_has("another --dir");
    assert!(files(&web.dir("crawl")) == before, "something was changed");
    assert_eq!(web.requests().len(), asked);
}

#[test]
fn rubbish_behind_the_last_commit_is_cut() {
    let web = Simulated::new(30, 500, 63);
    let segment = crawl_with_journal(&web);
    let mut bytes = std::fs::read(&segment).expect("the segment");
    bytes.extend_from_slice(&[0; 5000]);
    std::fs::write(&segment, &bytes).expect("the segment");
    assert_eq!(urls(&web.dir("crawl"), "fetched").len(), 200);
    let done = web.go_on("crawl", &["--max-pages", "none"]).expect_code(0);
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth("crawl");
}

/// Either shard may have had all the pages.
fn shard_of(archive: &Path) -> String {
    let name = archive.file_name().expect("a name").to_string_lossy();
    let shard = name.split('-').find(|part| part.starts_with('s'));
    shard.expect("a shard").to_owned()
}

#[test]
fn what_was_never_committed_leaves_the_archive_and_nothing_else_does() {
    let web = Simulated::new(10, 100, 67);
    web.crawl("crawl", &["--max-pages", "20", "--threads", "2"])
        .expect_code(0);
    let folder = web.dir("crawl").join("warc");
    let ours = files(&folder);
    let mut kept = ours.clone();
    let (archive, bytes) = ours.iter().next().expect("an archive file");
    let beside = format!("e0001-{}-00000", shard_of(archive));
    // What somebody else put there: of an epoch that never was, and beside one
    // of ours.
    for theirs in ["e0009-s000-00000", &beside] {
        let path = folder.join(format!("rhumb-20250101000000-{theirs}.warc.gz"));
        std::fs::write(&path, b"another crawl's").expect("a file");
        kept.insert(path, b"another crawl's".to_vec());
    }
    std::fs::write(archive, [bytes.as_slice(), b"half a record"].concat()).expect("a longer file");
    let uncommitted = folder.join("rhumb-20260101000000-e0001-s000-00001.warc.gz");
    std::fs::write(&uncommitted, b"begun").expect("a file");
    let theirs = folder.join("index.cdx");
    std::fs::write(&theirs, b"made by somebody else").expect("a file");
    let unnamed = folder.join("rhumb-20260101000000-e0001-s001-00001.warc.gz");
    std::fs::write(&unnamed, bytes).expect("a file with whole records");
    // To verify these are what a kill leaves.
    let verified = web.ask("verify", "crawl", &["--json"]).expect_code(0);
    assert_eq!(verified.json()["sound"], true);
    assert_eq!(figure(&verified.json(), "warnings"), 0);
    assert_eq!(figure(&verified.json(), "notes"), 5);
    web.go_on("crawl", &["--max-pages", "20"]).expect_code(0);
    let mut now = files(&folder);
    assert_eq!(
        now.remove(&theirs).expect("their file"),
        b"made by somebody else"
    );
    assert!(now == kept, "the archive is not as it was");
}

#[test]
fn another_format_is_refused() {
    let web = Simulated::new(3, 20, 64);
    web.crawl("crawl", &[]).expect_code(0);
    let identity = web.dir("crawl").join("state/identity.toml");
    let text = without_checksum(&identity).replace("format = 2", "format = 999");
    std::fs::write(&identity, text).expect("the identity");
    let before = files(&web.dir("crawl"));
    web.go_on("crawl", &[])
        .expect_code(3)
        .assert_stderr_has("format 999");
    web.ask("status", "crawl", &[]).expect_code(3);
    web.ask("urls", "crawl", &["--state", "fetched"])
        .expect_code(3);
    assert!(files(&web.dir("crawl")) == before, "something was changed");

    std::fs::write(&identity, "format = \"what?").expect("the identity");
    web.go_on("crawl", &[])
        .expect_code(4)
        .assert_stderr_has("identity.toml");
}

/// An identity as earlier builds wrote it.
fn without_checksum(identity: &Path) -> String {
    let text = std::fs::read_to_string(identity).expect("the identity");
    let lines = text.split_inclusive('\n');
    lines.filter(|line| !line.contains("checksum")).collect()
}

#[test]
fn an_identity_of_other_values_is_refused() {
    let web = Simulated::new(3, 20, 70);
    web.crawl("crawl", &["--max-pages", "5"]).expect_code(0);
    let identity = web.dir("crawl").join("state/identity.toml");
    let good = std::fs::read_to_string(&identity).expect("the identity");
    let asked = web.requests().len();
    for key in ["format = ", "hash_seed = ", "created = \"", "checksum = \""] {
        let at = good.find(key).expect("a value") + key.len();
        let other = if &good[at..=at] == "1" { "3" } else { "1" };
        let spoiled = format!("{}{other}{}", &good[..at], &good[at + 1..]);
        std::fs::write(&identity, spoiled).expect("the identity");
        let before = files(&web.dir("crawl"));
        for done in [
            web.go_on("crawl", &["--max-pages", "none"]),
            web.ask("status", "crawl", &[]),
            web.ask("verify", "crawl", &[]),
        ] {
            let done = done.expect_code(4);
            done.assert_stderr_has("identity.toml");
            done.assert_stderr_has("checksum");
            done.assert_stderr_has("from a copy");
        }
        assert!(files(&web.dir("crawl")) == before, "something was changed");
    }
    assert_eq!(web.requests().len(), asked);
    // Earlier builds wrote none.
    std::fs::write(&identity, &good).expect("the identity");
    std::fs::write(&identity, without_checksum(&identity)).expect("the identity");
    let done = web.go_on("crawl", &["--max-pages", "none"]).expect_code(0);
    web.assert_counts_are_the_truth(&done);
}

#[test]
fn no_new_identity_is_made_for_a_crawl_that_has_lost_its_own() {
    let web = Simulated::new(3, 20, 71);
    web.crawl("crawl", &["--max-pages", "5"]).expect_code(0);
    let dir = web.dir("crawl");
    let identity = dir.join("state/identity.toml");
    let good = files(&dir);
    let asked = web.requests().len();
    std::fs::remove_file(&identity).expect("the identity");
    let refused = |web: &Simulated| {
        for done in [
            web.crawl("crawl", &["--max-pages", "none"]),
            web.go_on("crawl", &["--max-pages", "none"]),
            web.ask("rebuild", "crawl", &[]),
            web.ask("status", "crawl", &[]),
        ] {
            let done = done.expect_code(4);
            done.assert_stderr_has("identity.toml is lost");
            done.assert_stderr_has("from a copy");
        }
        assert!(!identity.exists());
    };
    refused(&web);
    // The journal alone, and the manifest alone.
    let manifest = dir.join("state/manifest.json");
    std::fs::remove_file(&manifest).expect("the manifest");
    refused(&web);
    std::fs::write(&manifest, &good[&manifest]).expect("the manifest");
    std::fs::remove_dir_all(dir.join("journal")).expect("the journal");
    refused(&web);
    assert_eq!(web.requests().len(), asked);
    for (path, bytes) in &good {
        std::fs::write(path, bytes).expect("a file");
    }
    let done = web.go_on("crawl", &["--max-pages", "none"]).expect_code(0);
    web.assert_counts_are_the_truth(&done);
}

#[test]
fn a_configuration_that_was_spoiled_is_told() {
    let web = Simulated::new(3, 20, 65);
    web.crawl("crawl", &[]).expect_code(0);
    let file = web.dir("crawl").join("crawl.toml");
    std::fs::write(&file, "delay = [").expect("the configuration");
    web.go_on("crawl", &[])
        .expect_code(2)
        .assert_stderr_has("crawl.toml");
}

#[test]
fn a_second_signal_ends_at_once_and_loses_nothing() {
    let web = Simulated::with_latency(10, 100, 66, std::time::Duration::from_millis(1500));
    let running = web.start_crawl("crawl", &["--threads", "2", "--set", "stop_grace=10m"]);
    crate::support::wait_for("visits under way", || {
        let status = web.ask("status", "crawl", &["--json"]);
        let in_flight = status.code == Some(0) && figure(&status.json(), "in_flight") > 0;
        in_flight.then_some(())
    });
    running.signal("INT");
    running.signal("INT");
    running.wait().expect_code(130);
    let status = web.ask("status", "crawl", &["--json"]).expect_code(0);
    assert_eq!(status.json()["running"], false);
    assert!(figure(&status.json(), "queued") > 0);
}

/// Pages that the archive lost are lost; what the journal says of them and of
/// all others is not.
#[test]
fn a_flaw_in_the_archive_takes_nothing_else_along() {
    let web = Simulated::new(10, 150, 69);
    web.crawl("crawl", &["--threads", "2"]).expect_code(0);
    let before: BTreeSet<String> = urls(&web.dir("crawl"), "fetched").into_iter().collect();
    let archive = files(&web.dir("crawl").join("warc"));
    let (path, bytes) = archive.iter().next().expect("an archive file");
    let mut spoiled = bytes.clone();
    spoiled[bytes.len() / 3] ^= 0x55;
    let spoil = || std::fs::write(path, &spoiled).expect("a file");
    let lose = || std::fs::remove_file(path).expect("a file");
    for harm in [&spoil as &dyn Fn(), &lose] {
        harm();
        web.ask("rebuild", "crawl", &[]).expect_code(0);
        web.go_on("crawl", &["--set", "state=memory"])
            .expect_code(0);
        let after: BTreeSet<String> = urls(&web.dir("crawl"), "fetched").into_iter().collect();
        assert_eq!(after, before);
        assert_eq!(parts_found(&web), BTreeSet::from(["archive".to_owned()]));
    }
}
