//! Asking a crawl and steering it.

use std::path::PathBuf;

use clap::ValueEnum;

#[derive(clap::Args)]
pub struct DirArgs {
    /// The crawl directory.
    #[arg(long, value_name = "DIR", env = "RHUMB_DIR", default_value = ".")]
    pub dir: PathBuf,
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
    /// How this host stands instead: what waits, its delay and what it follows from, its robots.txt, its failures.
    /// A name, or any URL of it.
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
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
pub struct AddArgs {
    /// URLs, or - to read them from standard input, one a line as in a file of seeds.
    #[arg(required = true)]
    pub seeds: Vec<String>,
    #[command(flatten)]
    pub place: DirArgs,
}
