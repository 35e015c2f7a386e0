//! The rules for one agent, laid out for asking.
//!
//! The longest matching rule decides, and `Allow` wins a tie (RFC 9309, 2.2.2).
//! Rules are kept in the order of their literal beginnings, the part before the
//! first wildcard. Of all beginnings, those a path can begin with are the one
//! just before the path in that order, and the ones that it begins with in
//! turn: one binary search and a walk up, however many rules there are.

use std::sync::Arc;
use std::time::Duration;

use crate::parse::parse;
use crate::pattern::{goes_on, literal_length, spell_path, spell_pattern};

/// What one robots.txt asks of one agent. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Rules {
    table: Arc<Table>,
}

/// The answer to "may I?", with the rule that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict<'a> {
    pub allowed: bool,
    /// The deciding line, counted from one; none when no rule matched.
    pub line: Option<u32>,
    /// The deciding rule, such as `Disallow: /private/`.
    pub rule: Option<&'a str>,
}

#[derive(Debug)]
struct Table {
    /// The verdict when no rule matches.
    allowed: bool,
    crawl_delay: Option<Duration>,
    sitemaps: Box<[String]>,
    /// All patterns, and all rules as they are told to people.
    text: Box<str>,
    rules: Box<[Rule]>,
    beginnings: Box<[Beginning]>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

#[derive(Debug)]
struct Rule {
    /// Twice the length of the pattern, and one more for `Allow`.
    strength: u32,
    line: u32,
    told: Span,
    pattern: Span,
    literal_length: u32,
    anchored: bool,
}

/// A literal beginning and the rules that have it, the strongest first.
#[derive(Debug)]
struct Beginning {
    literal: Span,
    first_rule: u32,
    rules_end: u32,
    /// The longest other beginning that this one begins with.
    shorter: Option<u32>,
}

/// A rule as it stands in the file.
pub(crate) struct Draft<'a> {
    pub(crate) line: u32,
    pub(crate) allow: bool,
    pub(crate) value: &'a [u8],
}

impl Rules {
    /// Read a robots.txt for one agent. Every file can be read: what is not
    /// understood does not count, nor does what is beyond the limits.
    pub fn parse(bytes: &[u8], agent_token: &str) -> Rules {
        parse(bytes, agent_token)
    }

    /// For a host without a robots.txt.
    pub fn allow_all() -> Rules {
        Rules::build(Vec::new(), None, Vec::new())
    }

    /// For a host whose robots.txt cannot be had.
    pub fn disallow_all() -> Rules {
        Rules {
            table: Arc::new(Table {
                allowed: false,
                crawl_delay: None,
                sitemaps: Box::default(),
                text: Box::default(),
                rules: Box::default(),
                beginnings: Box::default(),
            }),
        }
    }

    /// May this path and query be visited? It begins with `/`. The robots.txt
    /// itself always may.
    pub fn check(&self, path_and_query: &str) -> Verdict<'_> {
        let table = &*self.table;
        let undecided = Verdict {
            allowed: table.allowed,
            line: None,
            rule: None,
        };
        if path_and_query == "/robots.txt" {
            return Verdict {
                allowed: true,
                ..undecided
            };
        }
        if table.rules.is_empty() {
            return undecided;
        }
        match table.strongest(&spell_path(path_and_query)) {
            Some(rule) => Verdict {
                allowed: rule.allows(),
                line: Some(rule.line),
                rule: Some(table.slice(rule.told)),
            },
            None => undecided,
        }
    }

    /// The pause between visits that the site asks for, at most
    /// [`MAX_CRAWL_DELAY`](crate::MAX_CRAWL_DELAY).
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.table.crawl_delay
    }

    /// Sitemap references in the order of the file, each once, as written: a
    /// relative one is still to be resolved.
    pub fn sitemaps(&self) -> &[String] {
        &self.table.sitemaps
    }

    /// About how many bytes these rules occupy, for caches with a budget.
    pub fn memory(&self) -> usize {
        let table = &*self.table;
        size_of::<Table>()
            + table.text.len()
            + size_of_val(&*table.rules)
            + size_of_val(&*table.beginnings)
            + size_of_val(&*table.sitemaps)
            + table.sitemaps.iter().map(String::capacity).sum::<usize>()
    }

    pub(crate) fn build(
        drafts: Vec<Draft<'_>>,
        crawl_delay: Option<Duration>,
        sitemaps: Vec<String>,
    ) -> Rules {
        let mut text = String::new();
        let mut rules = Vec::with_capacity(drafts.len());
        for draft in &drafts {
            let rule = Rule::write(draft, &mut text);
            rules.extend(rule.for_index_page(&text));
            rules.push(rule);
        }
        let literal = |rule: &Rule| {
            let start = rule.pattern.start as usize;
            &text[start..start + rule.literal_length as usize]
        };
        rules.sort_by(|a, b| {
            literal(a)
                .cmp(literal(b))
                .then(b.strength.cmp(&a.strength))
                .then(a.line.cmp(&b.line))
        });
        let beginnings = beginnings(&rules, &text);
        Rules {
            table: Arc::new(Table {
                allowed: true,
                crawl_delay,
                sitemaps: sitemaps.into_boxed_slice(),
                text: text.into_boxed_str(),
                rules: rules.into_boxed_slice(),
                beginnings,
            }),
        }
    }
}

impl Table {
    fn slice(&self, span: Span) -> &str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn strongest(&self, path: &str) -> Option<&Rule> {
        let after = self
            .beginnings
            .partition_point(|beginning| self.slice(beginning.literal) <= path);
        let mut next = after.checked_sub(1);
        let mut best: Option<&Rule> = None;
        while let Some(beginning) = next.map(|at| &self.beginnings[at]) {
            if let Some(rest) = path.strip_prefix(self.slice(beginning.literal)) {
                let rules = beginning.first_rule as usize..beginning.rules_end as usize;
                let stronger = self.rules[rules]
                    .iter()
                    .take_while(|rule| best.is_none_or(|best| rule.strength > best.strength))
                    .find(|rule| {
                        let tail = &self.slice(rule.pattern)[rule.literal_length as usize..];
                        goes_on(tail, rule.anchored, rest)
                    });
                best = stronger.or(best);
            }
            next = beginning.shorter.map(|at| at as usize);
        }
        best
    }
}

impl Rule {
    fn allows(&self) -> bool {
        self.strength & 1 == 1
    }

    /// Append the rule to the text: as told, and its pattern, which is most
    /// often a part of that.
    fn write(draft: &Draft<'_>, text: &mut String) -> Rule {
        let told_start = text.len();
        text.push_str(if draft.allow { "Allow: " } else { "Disallow: " });
        let value_start = text.len();
        text.push_str(&String::from_utf8_lossy(draft.value));
        let told_end = text.len();

        let bare = draft.value.strip_suffix(b"$");
        let anchored = bare.is_some();
        let spelling = spell_pattern(bare.unwrap_or(draft.value));
        let pattern_start = if text[value_start..].starts_with(&spelling) {
            value_start
        } else {
            text.push_str(&spelling);
            told_end
        };
        Rule {
            strength: strength(spelling.len(), anchored, draft.allow),
            line: draft.line,
            told: span(told_start, told_end),
            pattern: span(pattern_start, pattern_start + spelling.len()),
            literal_length: literal_length(&spelling) as u32,
            anchored,
        }
    }

    /// `Allow: /a/index.html` allows `/a/` too, the same page.
    fn for_index_page(&self, text: &str) -> Option<Rule> {
        let pattern = &text[self.pattern.start as usize..self.pattern.end as usize];
        let folder = pattern.rfind('/')? + 1;
        let wanted = self.allows() && pattern[folder..].starts_with("index.htm");
        wanted.then(|| Rule {
            strength: strength(folder, true, true),
            pattern: span(
                self.pattern.start as usize,
                self.pattern.start as usize + folder,
            ),
            literal_length: self.literal_length.min(folder as u32),
            anchored: true,
            ..*self
        })
    }
}

fn strength(length: usize, anchored: bool, allow: bool) -> u32 {
    ((length + usize::from(anchored)) * 2 + usize::from(allow)) as u32
}

/// The text is some megabytes at most: its source is bounded.
fn span(start: usize, end: usize) -> Span {
    Span {
        start: start as u32,
        end: end as u32,
    }
}

/// The distinct literal beginnings of sorted rules, each with the longest one
/// that it begins with.
fn beginnings(rules: &[Rule], text: &str) -> Box<[Beginning]> {
    let slice = |span: Span| &text[span.start as usize..span.end as usize];
    let mut found: Vec<Beginning> = Vec::new();
    let mut open: Vec<u32> = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let literal = Span {
            start: rule.pattern.start,
            end: rule.pattern.start + rule.literal_length,
        };
        if let Some(last) = found.last_mut()
            && slice(last.literal) == slice(literal)
        {
            last.rules_end += 1;
            continue;
        }
        while let Some(&top) = open.last()
            && !slice(literal).starts_with(slice(found[top as usize].literal))
        {
            open.pop();
        }
        found.push(Beginning {
            literal,
            first_rule: at as u32,
            rules_end: at as u32 + 1,
            shorter: open.last().copied(),
        });
        open.push(found.len() as u32 - 1);
    }
    found.into_boxed_slice()
}
