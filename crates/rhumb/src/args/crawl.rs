//! What a crawl is given: seeds and settings.

use std::path::PathBuf;

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
#[command(
    after_help = "Every flag of `rhumb crawl` that sets something is taken here too: \
rhumb config --max-pages 100 --scope domain > mine.toml"
)]
pub struct ConfigArgs {
    #[command(flatten)]
    pub settings: Settings,
}
