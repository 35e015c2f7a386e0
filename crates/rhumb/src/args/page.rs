//! One page, one file, one robots.txt.

use std::path::PathBuf;

use super::Settings;

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
