//! From files, environment and flags to one configuration.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Config;
use super::check::check;

pub const ENV_PREFIX: &str = "RHUMB_";

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum ConfigError {
    #[error("unknown setting `{key}`; {}", match suggestion {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => "`rhumb config` lists all of them".to_owned(),
    })]
    UnknownKey {
        key: String,
        suggestion: Option<&'static str>,
    },
    #[error("setting `{key}`: {reason}")]
    Value { key: String, reason: String },
    #[error("{}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error("environment variable {name}: {reason}")]
    Environment { name: String, reason: String },
    #[error(
        "`{0}` is not of the form key=value, such as max_pages=100; `rhumb config` lists all keys"
    )]
    NotAPair(String),
}

impl ConfigError {
    pub(crate) fn value(key: &str, reason: String) -> ConfigError {
        ConfigError::Value {
            key: key.to_owned(),
            reason,
        }
    }

    pub(super) fn unknown_key(key: &str) -> ConfigError {
        let nearest = Config::KEYS
            .iter()
            .map(|known| (distance(key, known.name), known.name))
            .min();
        ConfigError::UnknownKey {
            key: key.to_owned(),
            suggestion: nearest
                .filter(|(distance, name)| *distance <= name.len().max(key.len()) / 2)
                .map(|(_, name)| name),
        }
    }
}

/// Layers a configuration: later calls win over earlier ones.
#[derive(Default)]
pub struct Loader {
    config: Config,
    own: Config,
    /// Where keys were set last, but for flags: a mistake that shows only in
    /// the end is told with its place.
    origins: HashMap<String, Origin>,
}

enum Origin {
    /// With the line, as `line_of` gives it.
    File(PathBuf, String),
    Environment(String),
}

impl Loader {
    /// The configuration of a crawl's own file alone, unchecked: what is
    /// given for the call may mend it.
    pub fn own(&self) -> &Config {
        &self.own
    }

    /// The crawl's own file, if it has one yet.
    pub fn own_file(mut self, dir: &Path) -> Result<Loader, ConfigError> {
        let path = dir.join("crawl.toml");
        if path.is_file() {
            self = self.file(&path)?;
        }
        // The directory is known: it has led here.
        self.config.dir.clear();
        self.own = self.config.clone();
        Ok(self)
    }

    pub fn file(mut self, path: &Path) -> Result<Loader, ConfigError> {
        let failed = |reason: String| ConfigError::File {
            path: path.to_owned(),
            reason,
        };
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let table: toml::Table =
            toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
        for (key, value) in &table {
            let value_text = plain(value).ok_or_else(|| {
                failed(format!("`{key}` is neither a value nor a list of values"))
            })?;
            let line = line_of(&text, key);
            self.config
                .set(key, &value_text)
                .map_err(|error| failed(format!("{line}{error}")))?;
            let origin = Origin::File(path.to_owned(), line);
            self.origins.insert(key.clone(), origin);
        }
        Ok(self)
    }

    /// `RHUMB_KEY=value` for every key. A variable that names no key is an
    /// error, as an unknown key in a file is.
    pub fn environment(
        mut self,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Loader, ConfigError> {
        for (name, text) in variables {
            match name.strip_prefix(ENV_PREFIX) {
                // It names the file that was read before.
                None | Some("CONFIG") => {}
                Some(key) => {
                    let key = key.to_ascii_lowercase();
                    let set = self.config.set(&key, &text);
                    set.map_err(|error| ConfigError::Environment {
                        name: name.clone(),
                        reason: error.to_string(),
                    })?;
                    self.origins.insert(key, Origin::Environment(name));
                }
            }
        }
        Ok(self)
    }

    pub fn set(mut self, key: &str, text: &str) -> Result<Loader, ConfigError> {
        let key = key.replace('-', "_");
        self.config.set(&key, text)?;
        self.origins.remove(&key);
        Ok(self)
    }

    /// `key=value`, as after `--set`.
    pub fn pair(self, pair: &str) -> Result<Loader, ConfigError> {
        let (key, text) = pair
            .split_once('=')
            .ok_or_else(|| ConfigError::NotAPair(pair.to_owned()))?;
        self.set(key.trim(), text.trim())
    }

    pub fn finish(self) -> Result<Config, ConfigError> {
        match check(&self.config) {
            Ok(()) => Ok(self.config),
            Err(error) => Err(self.with_place(error)),
        }
    }

    /// A wrong value, told with the place where it was given.
    fn with_place(&self, error: ConfigError) -> ConfigError {
        let origin = match &error {
            ConfigError::Value { key, .. } => self.origins.get(key),
            _ => None,
        };
        match origin {
            None => error,
            Some(Origin::File(path, line)) => ConfigError::File {
                path: path.clone(),
                reason: format!("{line}{error}"),
            },
            Some(Origin::Environment(name)) => ConfigError::Environment {
                name: name.clone(),
                reason: error.to_string(),
            },
        }
    }
}

/// `line 3: `, where the file sets this key.
fn line_of(text: &str, key: &str) -> String {
    let sets_it = |line: &str| {
        line.split_once('=')
            .is_some_and(|(name, _)| name.trim().trim_matches(['"', '\'']) == key)
    };
    let line = text.lines().position(sets_it);
    line.map_or_else(String::new, |line| format!("line {}: ", line + 1))
}

fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        toml::Value::Array(items) => {
            let parts: Option<Vec<String>> = items.iter().map(plain).collect();
            Some(parts?.join(","))
        }
        _ => None,
    }
}

/// Edits (insert, delete, replace) from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limit;

    #[test]
    fn an_unknown_key_suggests_the_nearest() {
        let error = Config::default().set("max_page", "3").unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown setting `max_page`; did you mean `max_pages`?"
        );
        let error = Config::default().set("zzzzzzzz", "3").unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown setting `zzzzzzzz`; `rhumb config` lists all of them"
        );
    }

    #[test]
    fn flag_wins_over_environment_over_file_over_default() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("crawl.toml");
        std::fs::write(&path, "max_pages = 1\nconnections = 5\nretries = 9\n").unwrap();
        let environment = [
            ("RHUMB_MAX_PAGES".to_owned(), "2".to_owned()),
            ("RHUMB_RETRIES".to_owned(), "8".to_owned()),
            ("HOME".to_owned(), "/".to_owned()),
        ];
        let config = Loader::default()
            .file(&path)
            .and_then(|l| l.environment(environment.into_iter()))
            .and_then(|l| l.set("max-pages", "3"))
            .and_then(Loader::finish)
            .unwrap();
        assert_eq!(config.max_pages, Limit(Some(3)));
        assert_eq!(config.retries, 8);
        assert_eq!(config.connections, 5);
        assert_eq!(config.per_host, 1);
    }

    #[test]
    fn the_printed_configuration_reads_back_as_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("crawl.toml");
        let mut config = Config::default();
        config
            .set("resolve", "a.test=127.0.0.1, b.test=::1")
            .unwrap();
        config.set("delay", "250ms").unwrap();
        config.set("json", "true").unwrap();
        config.set("dir", "here and there").unwrap();
        std::fs::write(&path, config.to_toml()).unwrap();
        let again = Loader::default().file(&path).and_then(Loader::finish);
        assert_eq!(again.unwrap(), config);
    }
}
