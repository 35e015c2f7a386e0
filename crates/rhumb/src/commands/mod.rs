//! One file for each command.

pub mod config;
pub mod crawl;
pub mod demo;
pub mod extract;
pub mod fetch;
mod host_status;
pub mod maintain;
pub mod robots;
pub mod sim;
pub mod sitemap;
mod sizes;
pub mod status;
pub mod steer;
pub mod urls;
pub mod why;

use std::path::{Path, PathBuf};

use rhumb_crawl::{Config, Loader};

use crate::args::Settings;
use crate::failure::Failure;
use crate::shell::word;

/// The effective configuration: the crawl's own file, then `--config`, the
/// environment, and the flags.
pub fn effective_config(dir: Option<&Path>, settings: &Settings) -> Result<Config, Failure> {
    Ok(load(dir, settings)?.finish()?)
}

/// What of it is written to the crawl's own file.
pub fn kept_config(dir: &Path, settings: &Settings) -> Result<Config, Failure> {
    let loader = load(Some(dir), settings)?;
    let own = loader.own().clone();
    Ok(loader.finish()?.with_call_keys_of(&own))
}

fn load(dir: Option<&Path>, settings: &Settings) -> Result<Loader, Failure> {
    let mut loader = Loader::default();
    if let Some(dir) = dir {
        loader = loader.own_file(dir)?;
    }
    if let Some(file) = &settings.config {
        loader = loader.file(file)?;
    }
    loader =
        loader.environment(std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        }))?;
    let (json, quiet) = (settings.json.to_string(), settings.quiet.to_string());
    let dir = settings.dir.as_ref().map(|dir| dir.display().to_string());
    let flags: [(&str, Option<&String>); 15] = [
        ("scope", settings.scope.as_ref()),
        ("max_pages", settings.max_pages.as_ref()),
        ("max_depth", settings.max_depth.as_ref()),
        ("max_bytes", settings.max_bytes.as_ref()),
        ("max_time", settings.max_time.as_ref()),
        ("order", settings.order.as_ref()),
        ("delay", settings.delay.as_ref()),
        ("per_host", settings.per_host.as_ref()),
        ("agent", settings.agent.as_ref()),
        ("threads", settings.threads.as_ref()),
        ("connections", settings.connections.as_ref()),
        ("warc", settings.warc.as_ref()),
        ("dir", dir.as_ref()),
        ("json", settings.json.then_some(&json)),
        ("quiet", settings.quiet.then_some(&quiet)),
    ];
    for (key, text) in flags {
        if let Some(text) = text {
            loader = loader.set(key, text)?;
        }
    }
    for (key, list) in [("resolve", &settings.resolve), ("dns", &settings.dns)] {
        if !list.is_empty() {
            loader = loader.set(key, &list.join(","))?;
        }
    }
    for pair in &settings.set {
        loader = loader.pair(pair)?;
    }
    Ok(loader)
}

/// How the user started this program: what a suggested command begins with.
pub fn program() -> String {
    if std::env::var_os("CARGO").is_some() {
        return "cargo run --release --".to_owned();
    }
    let name = std::env::args_os().next().map(PathBuf::from);
    name.map_or("rhumb".to_owned(), |name| word(&name))
}
