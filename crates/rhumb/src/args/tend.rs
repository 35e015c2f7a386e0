//! Looking after a crawl directory.

use super::DirArgs;

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
