//! The simulated web.

use std::path::PathBuf;

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
