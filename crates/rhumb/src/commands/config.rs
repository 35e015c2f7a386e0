//! `rhumb config`

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use rhumb_crawl::CrawlError;
use rhumb_store::{CrawlDirectory, DirectoryError};

use crate::args::ConfigArgs;
use crate::commands::effective_config;
use crate::failure::Failure;

pub fn run(args: &ConfigArgs) -> Result<ExitCode, Failure> {
    let mut config = effective_config(None, &args.settings)?;
    let given = args.settings.dir.clone();
    // The directory may be named by a flag, a variable or a file.
    let named = given.or_else(|| (!config.dir.is_empty()).then(|| PathBuf::from(&config.dir)));
    if let Some(dir) = named {
        if !CrawlDirectory::exists(&dir) {
            return Err(CrawlError::Directory(DirectoryError::NotACrawl(dir)).into());
        }
        config = effective_config(Some(&dir), &args.settings)?;
    }
    std::io::stdout()
        .write_all(config.to_toml().as_bytes())
        .map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}
