//! A simulated web, its truth, and a folder for crawls of it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use rhumb_sim::{Log, LoggedRequest, Sim, SimConfig, Truth};
use tempfile::TempDir;

use super::figures::{figure, urls};
use super::program::{Done, Running, run};

pub struct Simulated {
    pub sim: Sim,
    pub truth: Truth,
    folder: TempDir,
}

impl Simulated {
    pub fn new(hosts: u32, pages: u64, seed: u64) -> Simulated {
        Simulated::with_latency(hosts, pages, seed, Duration::ZERO)
    }

    pub fn with_latency(hosts: u32, pages: u64, seed: u64, latency: Duration) -> Simulated {
        let sim = Sim::start(SimConfig {
            hosts,
            pages,
            seed,
            dns_port: Some(0),
            log: Log::memory(),
            latency,
            ..SimConfig::default()
        })
        .expect("the simulated web starts");
        Simulated {
            truth: sim.web().truth(),
            sim,
            folder: tempfile::tempdir().expect("a folder for the test"),
        }
    }

    /// A crawl directory with this name, which need not exist yet.
    pub fn dir(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn dir_arg(&self, name: &str) -> String {
        self.dir(name).display().to_string()
    }

    /// Look names up in the simulated web.
    pub fn dns(&self) -> Vec<String> {
        let address = self.sim.dns_addr().expect("the web answers DNS");
        vec!["--dns".to_owned(), address.to_string()]
    }

    /// `rhumb crawl` into a directory: of the whole web and without delays,
    /// unless told otherwise.
    pub fn crawl_args(&self, dir: &str, more: &[&str]) -> Vec<String> {
        let mut args = self.go_on_args(dir, more);
        for (flag, value) in [("--scope", "any"), ("--delay", "0s")] {
            if !more.contains(&flag) {
                args.extend([flag, value].map(str::to_owned));
            }
        }
        args.push(self.truth.seed_url.clone());
        args
    }

    /// `rhumb crawl` that goes on with a crawl.
    pub fn go_on_args(&self, dir: &str, more: &[&str]) -> Vec<String> {
        let mut args = vec!["crawl".to_owned(), "--dir".to_owned(), self.dir_arg(dir)];
        args.extend(self.dns());
        args.extend(["--json", "--quiet"].map(str::to_owned));
        args.extend(more.iter().map(|arg| (*arg).to_owned()));
        args
    }

    pub fn crawl(&self, dir: &str, more: &[&str]) -> Done {
        run(self.crawl_args(dir, more))
    }

    pub fn go_on(&self, dir: &str, more: &[&str]) -> Done {
        run(self.go_on_args(dir, more))
    }

    pub fn start_crawl(&self, dir: &str, more: &[&str]) -> Running {
        Running::start(self.crawl_args(dir, more))
    }

    /// `rhumb COMMAND --dir DIR …`
    pub fn ask(&self, command: &str, dir: &str, more: &[&str]) -> Done {
        let mut args = vec![command.to_owned(), "--dir".to_owned(), self.dir_arg(dir)];
        args.extend(more.iter().map(|arg| (*arg).to_owned()));
        run(args)
    }

    /// Requests so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        let mut requests = self.sim.requests();
        requests.sort_by(|a, b| a.time.total_cmp(&b.time));
        requests
    }

    pub fn url_of(&self, request: &LoggedRequest) -> String {
        format!(
            "http://{}:{}{}",
            request.host,
            self.sim.port(),
            request.path
        )
    }

    /// The body that a URL of this web gives, without any coding.
    pub fn body_of(&self, url: &str) -> Vec<u8> {
        let (host, target) = split(url);
        self.sim.web().response(host, target, false).body
    }

    /// What counts as a page brought home.
    pub fn to_fetch(&self) -> BTreeSet<String> {
        set([&self.truth.pages, &self.truth.redirects])
    }

    /// What a complete crawl asks for, besides robots.txt.
    pub fn to_ask(&self) -> BTreeSet<String> {
        let truth = &self.truth;
        set([
            &truth.pages,
            &truth.redirects,
            &truth.missing,
            &truth.unwanted,
        ])
    }

    /// The crawl in a directory is complete: its lists are the truth.
    pub fn assert_lists_are_the_truth(&self, dir: &str) {
        let dir = self.dir(dir);
        assert_same("fetched", &urls(&dir, "fetched"), &self.to_fetch());
        assert_same("failed", &urls(&dir, "failed"), &set([&self.truth.missing]));
        let refused: BTreeSet<String> = urls(&dir, "refused").into_iter().collect();
        for url in self.truth.unwanted.iter().chain(&self.truth.forbidden) {
            assert!(refused.contains(url), "{url} is not among the refused");
        }
        assert_same("queued", &urls(&dir, "queued"), &BTreeSet::new());
        assert_same("in-flight", &urls(&dir, "in-flight"), &BTreeSet::new());
    }

    /// The counts of a complete crawl are those of the truth.
    pub fn assert_counts_are_the_truth(&self, done: &Done) {
        let truth = &self.truth;
        let json = done.json();
        assert_eq!(json["ending"], "finished");
        assert_eq!(figure(&json, "fetched"), self.to_fetch().len() as u64);
        assert_eq!(figure(&json, "failed"), truth.missing.len() as u64);
        let refused = truth.unwanted.len() + truth.forbidden.len();
        assert_eq!(figure(&json, "refused"), refused as u64);
        assert_eq!(figure(&json, "duplicates"), self.duplicates());
        let seen = self.to_ask().len() + truth.forbidden.len();
        assert_eq!(figure(&json, "urls_seen"), seen as u64);
        assert_eq!(figure(&json, "queued"), 0);
        assert_eq!(figure(&json, "in_flight"), 0);
        assert!(figure(&json, "links") >= truth.links);
    }

    /// Documents less different documents: empty ones are like no other.
    pub fn duplicates(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut documents = 0;
        let mut different = BTreeSet::new();
        for url in &self.truth.pages {
            let body = self.body_of(url);
            if !body.is_empty() {
                let mut hasher = DefaultHasher::new();
                body.hash(&mut hasher);
                different.insert((hasher.finish(), body.len()));
                documents += 1;
            }
        }
        documents - different.len() as u64
    }
}

/// Host (with port) and target of a URL.
pub fn split(url: &str) -> (&str, &str) {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

pub fn set<const N: usize>(lists: [&Vec<String>; N]) -> BTreeSet<String> {
    lists.into_iter().flatten().cloned().collect()
}

/// A list has every member of a set once, and nothing else.
pub fn assert_same(what: &str, list: &[String], set: &BTreeSet<String>) {
    let found: BTreeSet<String> = list.iter().cloned().collect();
    let missing: Vec<_> = set.difference(&found).take(5).collect();
    let extra: Vec<_> = found.difference(set).take(5).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "{what}: missing {missing:?}, too many {extra:?}"
    );
    assert_eq!(list.len(), set.len(), "{what}: some are there twice");
}
