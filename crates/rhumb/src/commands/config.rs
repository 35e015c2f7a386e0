//! `rhumb config`

use std::io::Write;
use std::process::ExitCode;

use rhumb_crawl::CrawlError;
use rhumb_store::{CrawlDirectory, DirectoryError};

use crate::args::ConfigArgs;
use crate::commands::effective_config;
use crate::failure::Failure;

pub fn run(args: &ConfigArgs) -> Result<ExitCode, Failure> {
    if let Some(dir) = &args.dir
        && !CrawlDirectory::exists(dir)
    {
        return Err(CrawlError::Directory(DirectoryError::NotACrawl(dir.clone())).into());
    }
    let config = effective_config(args.dir.as_deref(), &args.settings)?;
    std::io::stdout()
        .write_all(config.to_toml().as_bytes())
        .map_err(Failure::io("standard output"))?;
    Ok(ExitCode::SUCCESS)
}
