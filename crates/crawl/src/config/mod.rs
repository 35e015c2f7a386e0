//! Every setting of a crawl, in one place.
//!
//! A key is a flag (`--max-pages`), an environment variable
//! (`RHUMB_MAX_PAGES`) and a line in `crawl.toml` (`max_pages = 100`). The
//! flag wins over the environment, the environment over the file, the file
//! over the default given here.

mod check;
mod load;
mod value;

use std::time::Duration;

use rhumb_frontier::Order;
use rhumb_store::ArchiveFormat;
use rhumb_url::ScopeRule;

use crate::reach::Special;
use crate::state::StateKind;

pub use load::{ConfigError, ENV_PREFIX, Loader};
pub use value::{Limit, Size, SizeLimit, TimeLimit, Value};

/// What is known of a setting besides its value.
pub struct Key {
    pub name: &'static str,
    pub group: &'static str,
    /// One sentence for people.
    pub help: &'static str,
}

macro_rules! settings {
    ($($group:literal { $($name:ident: $type:ty = $default:expr, $help:literal;)* })*) => {
        #[derive(Debug, Clone, PartialEq)]
        pub struct Config {
            $($(#[doc = $help] pub $name: $type,)*)*
        }

        impl Default for Config {
            fn default() -> Config {
                Config { $($($name: $default,)*)* }
            }
        }

        impl Config {
            pub const KEYS: &[Key] = &[$($(Key {
                name: stringify!($name),
                group: $group,
                help: $help,
            },)*)*];

            /// Set one key from its text.
            pub fn set(&mut self, key: &str, text: &str) -> Result<(), ConfigError> {
                match key {
                    $($(stringify!($name) => {
                        self.$name = Value::parse(text)
                            .map_err(|reason| ConfigError::value(key, reason))?;
                    })*)*
                    _ => return Err(ConfigError::unknown_key(key)),
                }
                Ok(())
            }

            /// A key's value as it stands in a TOML file.
            pub fn get(&self, key: &str) -> Option<String> {
                match key {
                    $($(stringify!($name) => Some(self.$name.toml()),)*)*
                    _ => None,
                }
            }
        }
    };
}

fn list(items: &str) -> Vec<String> {
    items.split_whitespace().map(str::to_owned).collect()
}

settings! {
    "What to crawl" {
        scope: ScopeRule = ScopeRule::Host, "Which links are followed: page (seeds alone), prefix (below a seed's folder), host (a seed's name), domain (its registered domain), any.";
        max_pages: Limit = Limit(None), "End when this many pages have been fetched over the crawl's whole life.";
        max_depth: Limit = Limit(None), "Follow links at most this many steps from a seed, by the way on which a page was found first; 0 fetches the seeds alone.";
        max_time: TimeLimit = TimeLimit(None), "End after this much time in one run.";
        max_bytes: SizeLimit = SizeLimit(None), "End when this many bytes have been received over the crawl's whole life, robots.txt and failed attempts included; what is under way then comes on top.";
        order: Order = Order::Bfs, "Order of visits inside a host: bfs (breadth first) or dfs (depth first).";
        max_redirects: usize = 10, "Redirects in a row that are followed.";
        follow: Vec<String> = list("a area frame iframe link canonical refresh redirect header"), "Kinds of link that are followed; img, srcset, script, embed and others are recorded only.";
        nofollow: bool = true, "Heed rel=nofollow, and nofollow in robots meta tags and X-Robots-Tag headers.";
        skip_extensions: Vec<String> = list("7z aac aif apk avi avif bin bmp bz2 css deb dmg doc docx eot epub exe flac flv gif gz ico ics iso jar jpeg jpg js m4a m4v mid mkv mov mp3 mp4 mpeg mpg msi odp ods odt ogg ogv otf pdf png ppt pptx ps rar rpm svg swf tar tgz tif tiff ttf wasm wav webm webp wma wmv woff woff2 xls xlsx xz zip zst"), "Links whose path ends in one of these are not followed.";
        types: Vec<String> = list("text/html application/xhtml+xml text/plain text/xml application/xml application/rss+xml application/atom+xml application/json"), "Content types that are downloaded; anything else is dropped once the header is read. */* takes all.";
    }
    "Politeness" {
        delay: Duration = Duration::from_secs(1), "Pause between two requests to one host name.";
        delay_factor: usize = 5, "A host that takes long to answer rests for so many times as long before it is asked again; 0 for no longer than `delay`. Where `delay` is zero there is no pause at all.";
        max_delay: Duration = Duration::from_secs(30), "But no host rests longer than this for being slow.";
        per_host: usize = 1, "Connections to one host name at a time.";
        per_address: usize = 8, "Connections to one IP address at a time, over all hosts on it.";
        address_delay: Duration = Duration::ZERO, "Pause between two requests to one IP address.";
        max_rate: Limit = Limit(None), "Requests in a second, over all hosts.";
        max_bandwidth: SizeLimit = SizeLimit(None), "Bytes received in a second, over all hosts: requests wait while more has come.";
        max_crawl_delay: Duration = Duration::from_secs(60), "A longer Crawl-delay in robots.txt is cut to this.";
        agent: String = concat!("rhumb/", env!("CARGO_PKG_VERSION")).to_owned(), "User-Agent header; its first word is the name looked up in robots.txt and robots meta tags. The public web is not visited without a URL or mail address in it where you can be reached.";
        robots_ttl: Duration = Duration::from_secs(86_400), "A robots.txt older than this is fetched again; one younger than a minute and twice the longest delay never is.";
        robots_cache: usize = 1 << 18, "Hosts whose robots.txt is kept in memory.";
        retries: usize = 2, "How often a visit that failed on the way (no connection, time-out) is tried again.";
        retry_delay: Duration = Duration::from_secs(1), "Pause before the first retry; it doubles each time.";
        host_failures: usize = 20, "A host is given up after this many failures in a row, until a seed that failed there is given again.";
    }
    "Size and speed" {
        threads: usize = default_threads(), "Shards: threads that each crawl their own share of the sites.";
        connections: usize = 128, "Connections open at a time, over all shards.";
        visits_per_turn: usize = 100, "Visits in a row to one host over one connection, where the delay is zero.";
        keep_alive: Duration = Duration::from_secs(15), "How long an idle connection is kept for its host's next visit.";
        max_body: Size = Size(10 << 20), "A document that states a greater length is not downloaded; one that turns out longer is cut, and marked. Of one that is longer once decoded this much is read.";
        max_header: Size = Size(64 << 10), "A longer response header fails the visit.";
        max_headers: usize = 512, "A response header of more fields than this fails the visit; 16,384 at the most.";
        max_links: usize = 10_000, "Links taken from one page; of the rest only the number is recorded.";
        max_anchor: usize = 512, "Bytes of anchor text kept per link.";
        document_memory: Size = Size(256 << 20), "Memory for documents of more than 64 KiB, over all shards; while they come in they are in files, and wait there for room.";
        exchange_batches: usize = 1024, "Link messages that may wait between two shards; beyond that the receiver reads the sender's journal.";
        commit_bytes: Size = Size(64 << 20), "Bytes of finished visits that may wait for the disk, per shard; beyond that fetching waits.";
    }
    "Network" {
        connect_timeout: Duration = Duration::from_secs(10), "For a connection, TLS included, to one address.";
        first_byte_timeout: Duration = Duration::from_secs(20), "From the request to the end of the response header.";
        idle_timeout: Duration = Duration::from_secs(15), "Longest silence while a body is read; what came is kept and marked.";
        total_timeout: Duration = Duration::from_secs(120), "For one visit as a whole; what came is kept and marked.";
        resolve: Vec<String> = Vec::new(), "Fixed answers to name look-ups: HOST=ADDRESS.";
        dns: Vec<String> = Vec::new(), "Name servers to ask, ADDRESS:PORT; the system's when empty.";
        dns_timeout: Duration = Duration::from_secs(5), "For one question to one name server.";
        dns_cache: usize = 65_536, "Names kept in the resolver's cache, per shard.";
        special_addresses: Special = Special::Auto, "Connect to loopback, private, link-local and other addresses that are not of the public Internet: allow, refuse, or auto: if every seed is one or a name that only your network knows (localhost, *.test, *.local, *.internal, a name without a dot). Addresses in `resolve` are open in any case.";
        verify_tls: bool = true, "Refuse servers whose certificate does not verify.";
    }
    "Storage" {
        warc: ArchiveFormat = ArchiveFormat::Gzip, "Archive format: gzip (.warc.gz), zstd (.warc.zst) or none.";
        warc_roll: Size = Size(1 << 30), "An archive file is closed at this size.";
        journal_roll: Size = Size(256 << 20), "A journal segment is closed at this size.";
        state: StateKind = StateKind::Disk, "Where the state (URL set, queues, host facts) is kept: disk, within `memory`, or memory.";
        memory: Size = Size(512 << 20), "Memory for the state of the crawl, over all shards.";
        hosts_per_connection: usize = 3, "Hosts at hand for each connection; more while connections idle although hosts wait.";
        max_bench: usize = 65_536, "The most hosts at hand.";
        max_waiting_hosts: usize = 4 << 20, "Hosts whose order is kept in memory while they wait; the rest is found on disk.";
        checkpoint_interval: Duration = Duration::from_secs(60), "A start after a crash reads the journal of this much time at the most.";
        checkpoint_visits: usize = 100_000, "A checkpoint is also made after this many visits of a shard.";
        sync_interval: Duration = Duration::from_secs(1), "Longest time that committed pages are exposed to a loss of power.";
        stop_grace: Duration = Duration::from_secs(5), "How long a stop waits for visits under way; what is abandoned is visited again later.";
        min_free_disk: Size = Size(1 << 30), "The crawl pauses while the disk has less free space than this.";
    }
    "This call" {
        dir: String = String::new(), "The crawl directory; crawl-HOST of the first seed when empty. A crawl's own crawl.toml does not name it: the directory can be moved.";
        json: bool = false, "End with one line of JSON on standard output. In a crawl's own crawl.toml it holds for every call; as a flag or variable it is not kept there.";
        quiet: bool = false, "Show no progress. In a crawl's own crawl.toml it holds for every call; as a flag or variable it is not kept there.";
    }
}

fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Config {
    /// The whole configuration as a TOML file with a comment for every key.
    pub fn to_toml(&self) -> String {
        self.toml_of(|_| true)
    }

    /// Likewise, as it is kept in the crawl's directory: a directory that is
    /// moved must not name another one.
    pub fn to_kept_toml(&self) -> String {
        self.toml_of(|key| key != "dir")
    }

    /// Keys of one call rather than of a crawl, as the crawl's own file has
    /// them: what is given for a call is not kept.
    pub fn with_call_keys_of(self, own: &Config) -> Config {
        Config {
            dir: String::new(),
            json: own.json,
            quiet: own.quiet,
            ..self
        }
    }

    fn toml_of(&self, wanted: impl Fn(&str) -> bool) -> String {
        let mut out = String::new();
        let mut group = "";
        for key in Config::KEYS.iter().filter(|key| wanted(key.name)) {
            if key.group != group {
                group = key.group;
                out.push_str(&format!("# ── {group} ──\n\n"));
            }
            let value = self.get(key.name).unwrap_or_default();
            out.push_str(&format!("# {}\n{} = {value}\n\n", key.help, key.name));
        }
        out
    }
}
