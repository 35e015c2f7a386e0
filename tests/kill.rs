//! Killed again and again, a crawl ends with all there is, and hardly asks
//! for anything twice. (`bench kill` does the same at size.)

use std::time::{Duration, SystemTime};

use rhumb_sim::{LoggedRequest, Truth};

use crate::support::trial::{Allowed, Chance, Trial};
use crate::support::{Running, Simulated, wait_for};

const KILLS: usize = 10;
const CONNECTIONS: usize = 16;
const DELAY: Duration = Duration::from_millis(20);

#[test]
fn a_crawl_that_is_killed_many_times_is_as_good_as_any() {
    let web = Simulated::new(40, 600, 71);
    let mut chance = Chance::new(71);
    let mut trial = Trial::new(&web.dir("crawl"));
    let connections = CONNECTIONS.to_string();
    let mut args = web.crawl_args(
        "crawl",
        &[
            "--delay",
            "20ms",
            "--connections",
            &connections,
            "--set",
            "checkpoint_visits=20",
            "--set",
            "sync_interval=20ms",
            "--set",
            "memory=2Mi",
            "--threads",
            "2",
        ],
    );
    for kill in 0..KILLS {
        trial.begins();
        let running = Running::start(args);
        if kill % 3 == 2 {
            // While it starts or recovers.
            std::thread::sleep(Duration::from_secs_f64(chance.between(0.0, 0.05)));
        } else {
            let wanted = web.sim.requests().len() + chance.between(5.0, 80.0) as usize;
            wait_for("requests", || {
                (web.sim.requests().len() >= wanted).then_some(())
            });
        }
        running.signal("KILL");
        let at = SystemTime::now();
        assert_eq!(running.wait().code, None, "it ended before kill {kill}");
        trial.was_killed(at);
        args = web.go_on_args("crawl", &[]);
    }
    trial.begins();
    let done = Running::start(args).wait().expect_code(0);
    web.assert_counts_are_the_truth(&done);
    web.assert_lists_are_the_truth("crawl");
    let allowed = Allowed {
        connections: CONNECTIONS,
        delay: DELAY,
    };
    let verdict = trial.judge(web.requests(), &web.truth, &allowed);
    eprintln!("{verdict}");
    assert!(verdict.breaches.is_empty(), "{verdict}");
    assert_eq!(verdict.kills, KILLS);
    assert!(verdict.captures > web.truth.pages.len());
}

#[test]
fn the_judge_sees_what_is_wrong() {
    let web = Simulated::new(5, 60, 72);
    let judged = |delay: Duration, change: &dyn Fn(&mut Vec<LoggedRequest>, &mut Truth)| {
        let mut trial = Trial::new(&web.dir("crawl"));
        trial.begins();
        let (mut requests, mut truth) = (web.requests(), web.truth.clone());
        change(&mut requests, &mut truth);
        let allowed = Allowed {
            connections: CONNECTIONS,
            delay,
        };
        trial.judge(requests, &truth, &allowed).breaches.join("\n")
    };
    web.crawl("crawl", &["--delay", "20ms"]).expect_code(0);
    assert_eq!(judged(DELAY, &|_, _| {}), "");
    let impolite = judged(Duration::from_secs(60), &|_, _| {});
    assert!(impolite.contains("requests came too soon"), "{impolite}");
    let twice = judged(DELAY, &|requests, _| {
        let page = requests.iter().find(|one| one.path != "/robots.txt");
        let mut again = page.expect("a page").clone();
        (again.time, again.end) = (again.time + 60.0, again.end + 60.0);
        requests.push(again);
    });
    assert!(twice.contains("asked for twice"), "{twice}");
    let missing = judged(DELAY, &|_, truth| truth.pages.push("http://a/".to_owned()));
    assert!(missing.contains("URLs are missing"), "{missing}");
    let extra = judged(DELAY, &|_, truth| drop(truth.pages.pop()));
    assert!(extra.contains("cannot be reached"), "{extra}");
    for file in std::fs::read_dir(web.dir("crawl").join("warc")).expect("the archive") {
        let path = file.expect("a file").path();
        let bytes = std::fs::read(&path).expect("a file");
        std::fs::write(&path, [&bytes[..], b"more"].concat()).expect("a longer file");
    }
    let loose = judged(DELAY, &|_, _| {});
    assert!(loose.contains("what no visit names"), "{loose}");
}
