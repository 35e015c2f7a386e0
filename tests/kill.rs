//! Killed again and again, a crawl ends with all there is, and hardly asks
//! for anything twice. (`bench kill` does the same at size.)

use std::time::{Duration, SystemTime};

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
