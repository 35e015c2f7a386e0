//! The flags of `rhumb sitemap`.

use std::path::PathBuf;

/// Where a sitemap is taken to lie when nobody says where.
pub const NOWHERE: &str = "https://sitemap.invalid/";

#[derive(clap::Args)]
#[command(
    after_help = "Read are XML sitemaps and indexes of them (their entries are sitemaps), RSS, Atom, and lists of one \
URL a line; any of them may be packed with gzip. What a file is, is seen in the file. Up to 50 MiB, unpacked, and \
50,000 entries count.\n\n\
Broken files give what can be read, and what is wrong is told on standard error. With --strict a file that is not \
sound, or not in the standard's namespace, gives nothing, and pages are left out that are not on the host and in the \
folder (or below it) of the sitemap.\n\n\
A line of JSON has url, last_modified, change_frequency, priority and alternates (language and url); what is not told \
is null. The last line has kind, entries, truncated and problems (kind, count, and the line and text of the first).\n\n\
The exit code is 0 whatever is wrong with the entries, and 2 if the file cannot be read or is no sitemap."
)]
pub struct SitemapArgs {
    /// The file; - is standard input.
    pub file: PathBuf,
    /// The URL it came from: what relative URLs belong to, and where --strict wants all pages
    /// [default: https://sitemap.invalid/, which shows in relative URLs].
    #[arg(long)]
    pub url: Option<String>,
    /// Its Content-Type header: only a charset in it counts, and only where the file does not name one.
    #[arg(long, value_name = "TYPE")]
    pub content_type: Option<String>,
    /// Forgive nothing.
    #[arg(long, requires = "url")]
    pub strict: bool,
    /// One JSON object an entry, and one at the end.
    #[arg(long)]
    pub json: bool,
}
