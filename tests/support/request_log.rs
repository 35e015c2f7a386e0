//! What the server's log says about a crawler's manners.

use std::collections::{BTreeMap, BTreeSet};

use rhumb_sim::LoggedRequest;

use super::simulated::{Simulated, assert_same};

const ROBOTS: &str = "/robots.txt";

/// Everything asked for besides robots.txt, in order.
pub fn asked(web: &Simulated, requests: &[LoggedRequest]) -> Vec<String> {
    requests
        .iter()
        .filter(|request| request.path != ROBOTS)
        .map(|request| web.url_of(request))
        .collect()
}

/// The log is that of one complete and well-behaved crawl.
pub fn assert_complete(web: &Simulated) {
    let requests = web.requests();
    let asked = asked(web, &requests);
    assert_same("asked for", &asked, &web.to_ask());
    assert_obedient(web, &asked);
}

/// Nothing that robots rules forbid, and nothing in the endless calendar.
pub fn assert_obedient(web: &Simulated, asked: &[String]) {
    let forbidden: BTreeSet<&String> = web.truth.forbidden.iter().collect();
    for url in asked {
        assert!(!forbidden.contains(url), "{url} is forbidden");
        assert!(!url.contains("/trap/"), "{url} is in the trap");
    }
}

/// Never more than `per_host` requests at one name at a time. With one at a
/// time, none sooner than `delay` seconds after the start and the end of
/// another.
pub fn assert_polite(requests: &[LoggedRequest], per_host: usize, delay: f64) {
    for (host, visits) in by_host(requests) {
        for (index, visit) in visits.iter().enumerate() {
            let earlier = &visits[..index];
            let open = earlier.iter().filter(|e| e.end > visit.time).count();
            assert!(
                open < per_host,
                "{} requests at a time to {host}: {visit:?}",
                open + 1
            );
            let Some(last) = earlier.last() else { continue };
            if per_host == 1 {
                let (gap, rest) = (visit.time - last.time, visit.time - last.end);
                assert!(gap >= delay, "{gap} s between {last:?} and {visit:?}");
                assert!(
                    rest >= delay,
                    "{rest} s of rest between {last:?} and {visit:?}"
                );
            }
        }
    }
}

/// Requests to one name start `delay` seconds apart, also where several are
/// under way. The log tells when the server took a request up, which may be
/// later than it was sent, never sooner: a request taken up late is nearer to
/// those after it. So any requests in a row span the delays between them, less
/// the `lateness` of the first.
pub fn assert_spaced(requests: &[LoggedRequest], delay: f64, lateness: f64) {
    for (host, visits) in by_host(requests) {
        for (index, first) in visits.iter().enumerate() {
            for (steps, last) in visits[index..].iter().enumerate().skip(1) {
                let (span, wanted) = (last.time - first.time, steps as f64 * delay);
                assert!(
                    span >= wanted - lateness,
                    "{} requests to {host} within {span} s, {lateness} s late: {first:?} to {last:?}",
                    steps + 1
                );
            }
        }
    }
}

/// The requests to each name, in the order of their arrival.
fn by_host(requests: &[LoggedRequest]) -> BTreeMap<&str, Vec<&LoggedRequest>> {
    let mut by_host: BTreeMap<&str, Vec<&LoggedRequest>> = BTreeMap::new();
    for request in requests {
        by_host.entry(&request.host).or_default().push(request);
    }
    for visits in by_host.values_mut() {
        visits.sort_by(|a, b| a.time.total_cmp(&b.time));
    }
    by_host
}
