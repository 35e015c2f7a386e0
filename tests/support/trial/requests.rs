//! What the server's log says about a crawler that was killed on the way.

use std::collections::{BTreeMap, HashMap, HashSet};

use rhumb_sim::{LoggedRequest, Truth};

use super::{Life, note};

/// Pages answered this shortly before a kill may not be committed yet: a
/// group gathers for 5 ms and is then written; the rest is for a busy machine.
const COMMIT_WINDOW: f64 = 0.05;

/// The log, each request with the life of the crawl it belongs to.
pub struct Asked<'a> {
    requests: Vec<(usize, &'a LoggedRequest)>,
    lives: &'a [Life],
    authority: String,
}

impl<'a> Asked<'a> {
    pub fn new(requests: &'a [LoggedRequest], lives: &'a [Life], truth: &Truth) -> Asked<'a> {
        let of = |request: &LoggedRequest| {
            // What a dying process sent may arrive after its death, but
            // before its successor sends anything.
            let begun = lives.partition_point(|life| life.started <= request.time);
            begun.saturating_sub(1)
        };
        Asked {
            requests: requests.iter().map(|one| (of(one), one)).collect(),
            lives,
            authority: port_of(&truth.seed_url),
        }
    }

    /// Everything but robots.txt: the life and the URL.
    fn pages(&self) -> impl Iterator<Item = (usize, String)> + '_ {
        let pages = self
            .requests
            .iter()
            .filter(|(_, one)| one.path != "/robots.txt");
        pages.map(|(life, one)| {
            let url = format!("http://{}{}{}", one.host, self.authority, one.path);
            (*life, url)
        })
    }

    /// Count what was asked for again. It may be only if it was not committed
    /// when the life before was ended.
    pub fn repeats(&self, committed: &HashMap<String, usize>, breaches: &mut Vec<String>) -> u64 {
        let mut last_life: HashMap<String, usize> = HashMap::new();
        let (mut repeats, mut within, mut needless) = (0, Vec::new(), Vec::new());
        for (life, url) in self.pages() {
            if let Some(before) = last_life.insert(url.clone(), life) {
                repeats += 1;
                // Kill number n ends life n - 1.
                if before == life {
                    within.push(url);
                } else if committed.get(&url).is_some_and(|kill| *kill <= life) {
                    needless.push(url);
                }
            }
        }
        note(breaches, "URLs were asked for twice by one process", within);
        note(
            breaches,
            "URLs were asked for again after their commit",
            needless,
        );
        repeats
    }

    /// URLs that had been asked for and were not committed, summed over the
    /// kills, and how many it may be: the connections, and the pages answered
    /// within the commit window.
    pub fn open_at_kills(
        &self,
        committed: &HashMap<String, usize>,
        connections: usize,
    ) -> (u64, u64) {
        let killed = self.lives.iter().take_while(|life| life.ended.is_finite());
        let mut bound = 0;
        for life in killed.clone() {
            let recent = life.ended - COMMIT_WINDOW..life.ended;
            let answered = self
                .requests
                .iter()
                .filter(|(_, one)| recent.contains(&one.end));
            bound += (connections + answered.count()) as u64;
        }
        let open: HashSet<(usize, String)> = self
            .pages()
            .filter(|(life, _)| *life < killed.clone().count())
            .filter(|(life, url)| committed.get(url).is_none_or(|kill| *kill > life + 1))
            .collect();
        (open.len() as u64, bound)
    }

    /// No host is asked sooner than `delay` after the start and the end of
    /// the request before, which is over at the latest when its client dies.
    pub fn manners(&self, delay: f64, breaches: &mut Vec<String>) {
        let mut last: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        let mut too_soon = Vec::new();
        for (life, request) in &self.requests {
            let died = self
                .lives
                .get(*life)
                .map_or(f64::INFINITY, |life| life.ended);
            let now = (request.time.min(died), request.end.min(died));
            if let Some((start, end)) = last.insert(&request.host, now) {
                let (gap, rest) = (request.time - start, request.time - end);
                if gap.min(rest) < delay {
                    too_soon.push(format!(
                        "{}{} after {gap:.4} s, {rest:.4} s after the answer",
                        request.host, request.path
                    ));
                }
            }
        }
        note(breaches, "requests came too soon", too_soon);
    }
}

/// The port of a URL, with its colon.
fn port_of(url: &str) -> String {
    let rest = url.split("://").nth(1).unwrap_or_default();
    let authority = rest.split('/').next().unwrap_or_default();
    authority
        .find(':')
        .map_or("", |at| &authority[at..])
        .to_owned()
}
