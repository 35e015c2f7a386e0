//! `rhumb config`

use std::io::Write;
use std::process::ExitCode;

use crate::args::ConfigArgs;
use crate::commands::effective_config;
use crate::failure::Failure;

pub fn run(args: &ConfigArgs) -> Result<ExitCode, Failure> {
    let config = effective_config(args.dir.as_deref(), &args.settings)?;
    std::io::stdout()
        .write_all(config.to_toml().as_bytes())
        .map_err(Failure::io("standard output"))?;
    Ok(ExitCode::SUCCESS)
}
