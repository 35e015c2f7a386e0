//! Every flag, defined once: help comes from here.

use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

const AFTER_HELP: &str = "\
Start:   rhumb demo                          crawl a simulated web, no network needed
         rhumb crawl https://example.org/    crawl one host into ./crawl-example.org/
         rhumb crawl --dir crawl-example.org go on where it stopped

Exit codes:
  0  done, also when a limit was reached, `rhumb stop` ended it, or the reader of the output had enough
  1  a fault of the program
  2  a wrong flag, setting, seed or URL, or a file that cannot be read
  3  the crawl directory is in use, missing or of another version; no crawl runs there, or it does not answer
  4  the disk failed, or the crawl is damaged
  5  too few file descriptors
  6  nothing could be fetched
  7  the output could not be written
  129, 130, 143  stopped by a closed terminal, Ctrl-C or a termination signal";

#[derive(Parser)]
#[command(name = "rhumb", version, about = "A web crawler that is polite by construction, never loses a page, and can be asked about what it brought home.", after_help = AFTER_HELP, max_term_width = 110)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

impl Args {
    /// Read the command line.
    pub fn read() -> Args {
        let command = Args::command().mut_subcommand("config", |config| {
            // All of them are settings: their help is that of `crawl`.
            config.mut_args(|arg| match arg.get_id().as_str() {
                "dir" => arg.help("Begin from this crawl's settings"),
                "config" | "set" => arg,
                _ => arg.hide(true),
            })
        });
        let matches = command.get_matches();
        Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

#[derive(Subcommand)]
pub enum Command {
    /// Crawl from seeds, or go on with a crawl.
    Crawl(Box<CrawlArgs>),
    /// Crawl a simulated web on this machine and show what to try next.
    Demo(DemoArgs),
    /// How a crawl stands: speed, hosts, sizes, connections.
    Status(StatusArgs),
    /// The URLs in a state, one a line.
    Urls(UrlsArgs),
    /// Everything known of a URL: where it was found, what became of it, and why.
    Why(WhyArgs),
    /// Let a running crawl rest.
    Pause(DirArgs),
    /// Let a paused crawl go on.
    Resume(DirArgs),
    /// End a running crawl cleanly.
    Stop(DirArgs),
    /// Hand seeds to a running crawl.
    Add(AddArgs),
    /// Let a running crawl make a checkpoint now.
    Checkpoint(DirArgs),
    /// Check a crawl's journal, archive and state, and say what is found.
    Verify(VerifyArgs),
    /// Make all state of a crawl again from its journal.
    Rebuild(DirArgs),
    /// Keep only the latest visit of each URL in the journal.
    Compact(DirArgs),
    /// Remove a host's or a prefix's pages from the crawl, for good, and visit none of them again.
    Forget(ForgetArgs),
    /// Show one page as the crawler sees it.
    Fetch(FetchArgs),
    /// Extract links and text from a file, as JSON.
    Extract(ExtractArgs),
    /// What a robots.txt says to URLs, and the line that decides.
    Robots(RobotsArgs),
    /// Print the effective configuration with a comment for every key.
    Config(Box<ConfigArgs>),
    /// Serve a simulated web on loopback, or tell the truth about it.
    Sim(SimArgs),
}

#[derive(clap::Args)]
#[command(
    after_help = "Every setting can also stand in crawl.toml (max_pages = 100) or the environment \
(RHUMB_MAX_PAGES=100); a flag wins over the environment, the environment over the file. `rhumb config` lists all of them."
)]
pub struct CrawlArgs {
    /// Where to begin: URLs, or names such as example.org.
    pub seeds: Vec<String>,
    /// Read seeds from a file, one a line; - is standard input. May be given several times.
    #[arg(long = "seeds", value_name = "FILE")]
    pub seed_files: Vec<PathBuf>,
    #[command(flatten)]
    pub settings: Settings,
}

/// The settings that have a flag of their own; `--set` reaches all others.
#[derive(clap::Args, Default)]
pub struct Settings {
    /// A configuration file to read over the crawl's own.
    #[arg(
        long,
        value_name = "FILE",
        env = "RHUMB_CONFIG",
        help_heading = "This call"
    )]
    pub config: Option<PathBuf>,
    /// Which links to follow: page, prefix, host, domain, any [default: host].
    #[arg(long, help_heading = "What to crawl")]
    pub scope: Option<String>,
    /// End when this many pages have been fetched.
    #[arg(long, value_name = "N", help_heading = "What to crawl")]
    pub max_pages: Option<String>,
    /// Follow links at most this many steps from a seed.
    #[arg(long, value_name = "N", help_heading = "What to crawl")]
    pub max_depth: Option<String>,
    /// End after this much time, such as 90s or 2h.
    #[arg(long, value_name = "TIME", help_heading = "What to crawl")]
    pub max_time: Option<String>,
    /// End when this much has been received, such as 500M or 2Gi.
    #[arg(long, value_name = "SIZE", help_heading = "What to crawl")]
    pub max_bytes: Option<String>,
    /// Order inside a host: bfs (breadth first) or dfs (depth first).
    #[arg(long, help_heading = "What to crawl")]
    pub order: Option<String>,
    /// Pause between two requests to one host [default: 1s].
    #[arg(long, value_name = "TIME", help_heading = "Politeness")]
    pub delay: Option<String>,
    /// Connections to one host at a time [default: 1].
    #[arg(long, value_name = "N", help_heading = "Politeness")]
    pub per_host: Option<String>,
    /// User-Agent header; add a URL where you can be reached.
    #[arg(long, value_name = "TEXT", help_heading = "Politeness")]
    pub agent: Option<String>,
    /// Shards, each a thread with its own sites [default: one per core].
    #[arg(long, value_name = "N", help_heading = "Size and speed")]
    pub threads: Option<String>,
    /// Connections at a time over all hosts [default: 128].
    #[arg(long, value_name = "N", help_heading = "Size and speed")]
    pub connections: Option<String>,
    /// Archive format: gzip, zstd or none [default: gzip].
    #[arg(long, value_name = "FORMAT", help_heading = "Storage")]
    pub warc: Option<String>,
    /// A fixed answer to a name look-up. May be given several times.
    #[arg(long, value_name = "HOST=ADDRESS", help_heading = "Network")]
    pub resolve: Vec<String>,
    /// A name server to ask. May be given several times.
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = "Network")]
    pub dns: Vec<String>,
    /// Any setting, as in crawl.toml. May be given several times.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "This call")]
    pub set: Vec<String>,
    /// The crawl directory [default: crawl-HOST of the first seed].
    #[arg(long, value_name = "DIR", help_heading = "This call")]
    pub dir: Option<PathBuf>,
    /// End with one line of JSON on standard output.
    #[arg(long, help_heading = "This call")]
    pub json: bool,
    /// Show no progress.
    #[arg(long, short, help_heading = "This call")]
    pub quiet: bool,
}

#[derive(clap::Args)]
pub struct DemoArgs {
    /// Hosts of the simulated web.
    #[arg(long, default_value_t = 300)]
    pub hosts: u32,
    /// Its pages.
    #[arg(long, default_value_t = 20_000)]
    pub pages: u64,
    /// Another seed gives another web.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where the crawl goes; an earlier demo there is replaced.
    #[arg(long, default_value = "crawl-demo")]
    pub dir: PathBuf,
}

#[derive(clap::Args)]
pub struct DirArgs {
    /// The crawl directory.
    #[arg(long, value_name = "DIR", env = "RHUMB_DIR", default_value = ".")]
    pub dir: PathBuf,
}

#[derive(clap::Args)]
pub struct AddArgs {
    /// URLs, or - to read them from standard input, one a line as in a file of seeds.
    #[arg(required = true)]
    pub seeds: Vec<String>,
    #[command(flatten)]
    pub place: DirArgs,
}

#[derive(clap::Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub place: DirArgs,
    /// One JSON object.
    #[arg(long)]
    pub json: bool,
    /// Show it again every second until the crawl ends.
    #[arg(long)]
    pub watch: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum StateArg {
    /// They wait for their visit.
    Queued,
    /// They are being fetched now.
    InFlight,
    /// Their page came, or a redirect.
    Fetched,
    /// No page came.
    Failed,
    /// Visits ended by robots.txt, a type, a size or a host given up, and URLs that only refused links
    /// name: more than `refused` in the summary, which counts visits.
    Refused,
}

#[derive(clap::Args)]
#[command(
    after_help = "Beside a running crawl, queued and in-flight are asked of it, piece by piece while you read, and you \
may take your time: every URL that waits all the while is listed once, one that comes or goes meanwhile may be or not. \
If the crawl ends before the list does, the exit code is 3. The other states are read from its journal: all that is \
committed by now."
)]
pub struct UrlsArgs {
    #[command(flatten)]
    pub place: DirArgs,
    /// Which of them.
    #[arg(long)]
    pub state: StateArg,
    /// One JSON object a line, with the reason.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct WhyArgs {
    /// The URL; - reads URLs from standard input, one a line, and answers each with a line of JSON.
    pub url: String,
    #[command(flatten)]
    pub place: DirArgs,
    /// One JSON object.
    #[arg(long)]
    pub json: bool,
    /// Also find and count every link that names it: reads the whole journal.
    #[arg(long)]
    pub links: bool,
}

#[derive(clap::Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub place: DirArgs,
    /// One JSON object a finding, and one at the end.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct ForgetArgs {
    /// A host name (with all names below it), or the beginning of URLs, such as https://example.org/private/.
    #[arg(value_name = "HOST|PREFIX", required_unless_present = "list")]
    pub what: Option<String>,
    /// Forget nothing, but let what was forgotten under exactly this name be visited again.
    #[arg(long, conflicts_with = "list")]
    pub allow: bool,
    /// List what was forgotten, when, and whether that still holds.
    #[arg(long, conflicts_with = "what")]
    pub list: bool,
    /// With --list: one JSON object a line.
    #[arg(long, requires = "list")]
    pub json: bool,
    #[command(flatten)]
    pub place: DirArgs,
}

#[derive(clap::Args)]
pub struct FetchArgs {
    /// The page, as a URL or a name such as example.org.
    pub url: String,
    /// The request and the response header, as they went over the wire.
    #[arg(long)]
    pub headers: bool,
    /// The links, one a line: kind, URL, anchor.
    #[arg(long)]
    pub links: bool,
    /// The text.
    #[arg(long)]
    pub text: bool,
    /// The document as it came, decoded.
    #[arg(long)]
    pub raw: bool,
    #[command(flatten)]
    pub settings: FetchSettings,
}

/// The settings that matter for one page.
#[derive(clap::Args)]
pub struct FetchSettings {
    /// A configuration file to read.
    #[arg(
        long,
        value_name = "FILE",
        env = "RHUMB_CONFIG",
        help_heading = "Settings"
    )]
    pub config: Option<PathBuf>,
    /// User-Agent header; its first word is the name looked up in robots.txt.
    #[arg(long, value_name = "TEXT", help_heading = "Settings")]
    pub agent: Option<String>,
    /// A fixed answer to a name look-up. May be given several times.
    #[arg(long, value_name = "HOST=ADDRESS", help_heading = "Settings")]
    pub resolve: Vec<String>,
    /// A name server to ask. May be given several times.
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = "Settings")]
    pub dns: Vec<String>,
    /// Any setting, such as types, max_body or a time-out. May be given several times.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Settings")]
    pub set: Vec<String>,
}

impl FetchSettings {
    pub fn as_settings(&self) -> Settings {
        Settings {
            config: self.config.clone(),
            agent: self.agent.clone(),
            resolve: self.resolve.clone(),
            dns: self.dns.clone(),
            set: self.set.clone(),
            ..Settings::default()
        }
    }
}

#[derive(clap::Args)]
pub struct ExtractArgs {
    /// The file; - is standard input.
    pub file: PathBuf,
    /// The URL it came from.
    #[arg(long)]
    pub url: String,
    /// Its Content-Type header.
    #[arg(long, value_name = "TYPE", default_value = "text/html")]
    pub content_type: String,
}

#[derive(clap::Args)]
#[command(
    after_help = "A file speaks for any site, a robots.txt that was fetched for its own scheme, name and port. It is \
asked for once. The exit code is 0 whatever the answers are, but 2 if a URL given here has none, and 6 if the site \
did not answer."
)]
pub struct RobotsArgs {
    /// A file (- is standard input), or the URL of any page of the site whose robots.txt is meant.
    #[arg(value_name = "FILE|URL")]
    pub source: PathBuf,
    /// URLs, or paths such as /private/; - reads them from standard input, one a line, and answers each with a
    /// line of JSON.
    #[arg(value_name = "URL", required = true)]
    pub urls: Vec<String>,
    /// One JSON object a line.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub settings: FetchSettings,
}

#[derive(clap::Args)]
#[command(
    after_help = "Every flag of `rhumb crawl` that sets something is taken here too: \
rhumb config --max-pages 100 --scope domain > mine.toml"
)]
pub struct ConfigArgs {
    #[command(flatten)]
    pub settings: Settings,
}

#[derive(clap::Args)]
#[command(
    after_help = "Every host has an address of its own in 127.0.0.0/8. One socket serves all of them: it is bound to \
the loopback interface where the system lets it be, and answers nobody but this machine in any case."
)]
pub struct SimArgs {
    /// Hosts of the simulated web.
    #[arg(long, default_value_t = 100)]
    pub hosts: u32,
    /// Its pages.
    #[arg(long, default_value_t = 10_000)]
    pub pages: u64,
    /// Another seed gives another web.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Port of every host's web server; 0 takes a free one.
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// Answer DNS on this UDP port of 127.0.0.1; 0 takes a free one.
    #[arg(long)]
    pub dns_port: Option<u16>,
    /// Write every request to this file, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Delay every answer by about this long, such as 20ms.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub latency: String,
    /// Print what a crawler must find, as JSON, and end.
    #[arg(long)]
    pub truth: bool,
}
