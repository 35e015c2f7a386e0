//! Every flag, defined once: help comes from here.

mod ask;
mod crawl;
mod page;
mod simulated;
mod sitemap;
mod tend;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use ask::{AddArgs, DirArgs, StateArg, StatusArgs, UrlsArgs, WhyArgs};
pub use crawl::{ConfigArgs, CrawlArgs, Settings};
pub use page::{ExtractArgs, FetchArgs, RobotsArgs};
pub use simulated::{DemoArgs, SimArgs};
pub use sitemap::{NOWHERE, SitemapArgs};
pub use tend::{ForgetArgs, VerifyArgs};

const AFTER_HELP: &str = "\
Start:   rhumb demo                          crawl a simulated web, no network needed
         rhumb crawl https://example.org/ --agent 'me (+https://my.site/bot)'
                                             crawl one host into ./crawl-example.org/
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
    /// The entries of a sitemap or feed, one a line, and what is wrong with it.
    Sitemap(SitemapArgs),
    /// Print the effective configuration with a comment for every key.
    Config(Box<ConfigArgs>),
    /// Serve a simulated web on loopback, or tell the truth about it.
    Sim(SimArgs),
}
