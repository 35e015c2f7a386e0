//! A crawl of public names does not wander into networks that are not public,
//! and nobody crawls the public web without a name.

use std::net::Ipv4Addr;
use std::path::Path;

use crate::support::name_server::NameServer;
use crate::support::odd_server::{OddServer, Reply};
use crate::support::{run, urls};

const HTML: &str = "200 OK\r\nContent-Type: text/html";
const CONTACT: &str = "rhumb-test (+http://example.org/contact)";
const INSIDE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// A public name that leads into a network inside by a link to its address,
/// by a name whose server answers with that address, and by a redirect.
struct Trap {
    outside: OddServer,
    inside: OddServer,
    names: NameServer,
}

impl Trap {
    fn new() -> Trap {
        let inside = OddServer::start_at(INSIDE, |_| Reply::Answer(HTML, "secret".to_owned()));
        let port = inside.address.port();
        let outside = OddServer::start(move |path| match path {
            "/" => Reply::Answer(
                HTML,
                format!(
                    "<a href=http://{INSIDE}:{port}/literal>x</a>\
                     <a href=http://rebound.example.org:{port}/name>x</a>\
                     <a href=http://[::ffff:127.0.0.2]:{port}/mapped>x</a>\
                     <a href=/away>x</a><a href=/open>x</a>"
                ),
            ),
            "/away" => {
                let to = format!("302 Found\r\nLocation: http://{INSIDE}:{port}/redirect");
                Reply::Answer(Box::leak(to.into_boxed_str()), String::new())
            }
            "/open" => Reply::Answer(HTML, String::new()),
            _ => Reply::Answer("404 Not Found", String::new()),
        });
        Trap {
            outside,
            inside,
            names: NameServer::start(INSIDE),
        }
    }

    fn crawl(&self, dir: &Path, more: &[&str]) {
        let seed = format!("http://example.org:{}/", self.outside.address.port());
        let (dir, dns) = (dir.display().to_string(), self.names.address.to_string());
        let mut args = vec!["crawl", &seed, "--dir", &dir, "--agent", CONTACT];
        args.extend(["--resolve", "example.org=127.0.0.1", "--dns", &dns]);
        args.extend(["--scope", "any", "--delay", "0s", "--quiet"]);
        args.extend(more);
        run(args).expect_code(0);
    }

    fn ways_in(&self) -> Vec<String> {
        let port = self.inside.address.port();
        let mut ways = vec![
            format!("http://{INSIDE}:{port}/literal"),
            format!("http://rebound.example.org:{port}/name"),
            format!("http://[::ffff:7f00:2]:{port}/mapped"),
            format!("http://{INSIDE}:{port}/redirect"),
        ];
        ways.sort();
        ways
    }
}

#[test]
fn a_crawl_of_public_names_stays_out_of_other_networks() {
    let trap = Trap::new();
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl");
    trap.crawl(&dir, &[]);
    assert_eq!(trap.inside.asked().len(), 0);
    let mut refused = urls(&dir, "refused");
    refused.sort();
    assert_eq!(refused, trap.ways_in());
    assert_eq!(urls(&dir, "fetched").len(), 3, "the seed, /open and /away");
    for way in trap.ways_in() {
        let dir = dir.display().to_string();
        let why = run(["why", &way, "--dir", &dir]).expect_code(0);
        assert!(why.stdout.contains("address-refused"), "{}", why.stdout);
        assert!(why.stdout.contains("special_addresses"), "{}", why.stdout);
    }
}

#[test]
fn other_networks_can_be_opened() {
    let trap = Trap::new();
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl");
    trap.crawl(&dir, &["--set", "special_addresses=allow"]);
    let fetched = urls(&dir, "fetched");
    for way in trap.ways_in() {
        // The system may have no IPv6 for the mapped one.
        assert!(way.contains("mapped") || fetched.contains(&way), "{way}");
    }
}

#[test]
fn the_public_web_is_not_crawled_without_a_contact() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("crawl").display().to_string();
    let done = run(["crawl", "http://example.org/", "--dir", &dir]).expect_code(2);
    assert!(done.stderr.contains("--agent"), "{}", done.stderr);
    assert!(!Path::new(&dir).exists());
}

#[test]
fn the_public_web_is_not_crawled_without_a_contact_by_later_seeds_either() {
    let server = OddServer::start(|_| Reply::Answer(HTML, String::new()));
    let folder = tempfile::tempdir().expect("a folder");
    let seeds = folder.path().join("seeds.txt");
    let local = format!("http://{}/", server.address);
    std::fs::write(&seeds, format!("{local}\nhttp://example.org/\n")).expect("a file");
    let (seeds, dir) = (seeds.display().to_string(), folder.path().join("crawl"));
    let there = dir.display().to_string();
    let done = run(["crawl", "--seeds", &seeds, "--dir", &there, "--delay", "0s"]);
    assert!(done.stderr.contains("--agent"), "{}", done.stderr);
    assert_eq!(urls(&dir, "fetched"), [local]);
}
