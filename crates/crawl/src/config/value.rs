//! How settings are written: durations and sizes with units, lists, limits.

use std::time::Duration;

use rhumb_frontier::Order;
use rhumb_store::ArchiveFormat;

use crate::reach::Special;
use crate::state::StateKind;
use rhumb_url::ScopeRule;

/// A value that a person can write in a file, a flag or the environment.
pub trait Value: Sized {
    fn parse(text: &str) -> Result<Self, String>;
    /// As it stands in a TOML file.
    fn toml(&self) -> String;
}

/// A number, or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(pub Option<u64>);

/// A length of time, or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLimit(pub Option<Duration>);

/// A number of bytes, or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeLimit(pub Option<u64>);

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

/// Beyond these, adding two of them would not always be possible.
const LONGEST: Duration = Duration::from_secs(36_500 * 86_400);
const LARGEST: u64 = 1 << 60;

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

impl Value for String {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn toml(&self) -> String {
        quoted(self)
    }
}

impl Value for bool {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "true" | "yes" | "on" | "1" => Ok(true),
            "false" | "no" | "off" | "0" => Ok(false),
            _ => Err(format!("`{text}` is neither true nor false")),
        }
    }

    fn toml(&self) -> String {
        self.to_string()
    }
}

impl Value for usize {
    fn parse(text: &str) -> Result<Self, String> {
        let digits = text.replace('_', "");
        digits
            .parse()
            .map_err(|_| format!("`{text}` is not a whole number"))
    }

    fn toml(&self) -> String {
        self.to_string()
    }
}

impl Value for Limit {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Limit(None));
        }
        let number = usize::parse(text)
            .map_err(|_| format!("`{text}` is neither a whole number nor `none`"))?;
        Ok(Limit(Some(number as u64)))
    }

    fn toml(&self) -> String {
        self.0.map_or_else(|| quoted("none"), |n| n.to_string())
    }
}

/// Splits `250ms` into its number and its unit.
fn number_and_unit(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let number: f64 = text[..end]
        .parse()
        .map_err(|_| format!("`{text}` does not begin with a number"))?;
    Ok((number, text[end..].trim()))
}

impl Value for Duration {
    fn parse(text: &str) -> Result<Self, String> {
        let (number, unit) = number_and_unit(text)?;
        let seconds = match unit {
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" | "" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return Err(format!("`{unit}` is no unit of time (us, ms, s, m, h, d)")),
        };
        let time = Duration::try_from_secs_f64(number * seconds).ok();
        time.filter(|time| *time <= LONGEST)
            .ok_or_else(|| format!("`{text}` is too long: at most 36500d"))
    }

    fn toml(&self) -> String {
        let micros = self.as_micros();
        let (unit, size) = [
            ("d", 86_400_000_000),
            ("h", 3_600_000_000),
            ("m", 60_000_000),
            ("s", 1_000_000),
            ("ms", 1000),
        ]
        .into_iter()
        .find(|(_, size)| micros >= *size && micros.is_multiple_of(*size))
        .unwrap_or(("us", 1));
        let text = if micros == 0 {
            "0s".to_owned()
        } else {
            format!("{}{unit}", micros / size)
        };
        quoted(&text)
    }
}

impl Value for TimeLimit {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(TimeLimit(None)),
            text => Duration::parse(text).map(|d| TimeLimit(Some(d))),
        }
    }

    fn toml(&self) -> String {
        self.0.map_or_else(|| quoted("none"), |d| d.toml())
    }
}

impl Value for Size {
    fn parse(text: &str) -> Result<Self, String> {
        let (number, unit) = number_and_unit(text)?;
        let factor: u64 = match unit.trim_end_matches('B').trim_end_matches('b') {
            "" => 1,
            "k" | "K" => 1000,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            "T" => 1_000_000_000_000,
            "Ki" => 1 << 10,
            "Mi" => 1 << 20,
            "Gi" => 1 << 30,
            "Ti" => 1 << 40,
            _ => {
                return Err(format!(
                    "`{unit}` is no unit of size (K, M, G, T, Ki, Mi, Gi, Ti)"
                ));
            }
        };
        let bytes = number * factor as f64;
        if bytes > LARGEST as f64 {
            return Err(format!("`{text}` is too large: at most 1048576Ti"));
        }
        Ok(Size(bytes as u64))
    }

    fn toml(&self) -> String {
        let (unit, size) = [
            ("Ti", 1u64 << 40),
            ("Gi", 1 << 30),
            ("Mi", 1 << 20),
            ("Ki", 1 << 10),
        ]
        .into_iter()
        .find(|(_, size)| self.0 >= *size && self.0.is_multiple_of(*size))
        .unwrap_or(("", 1));
        quoted(&format!("{}{unit}", self.0 / size))
    }
}

impl Value for SizeLimit {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(SizeLimit(None)),
            text => Size::parse(text).map(|size| SizeLimit(Some(size.0))),
        }
    }

    fn toml(&self) -> String {
        self.0.map_or_else(|| quoted("none"), |n| Size(n).toml())
    }
}

/// Written in one line with commas between, or as a TOML list.
impl Value for Vec<String> {
    fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim);
        Ok(parts.filter(|p| !p.is_empty()).map(str::to_owned).collect())
    }

    fn toml(&self) -> String {
        let parts: Vec<String> = self.iter().map(|part| quoted(part)).collect();
        format!("[{}]", parts.join(", "))
    }
}

macro_rules! named_value {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn parse(text: &str) -> Result<Self, String> {
                text.parse()
            }

            fn toml(&self) -> String {
                quoted(self.as_str())
            }
        }
    )*};
}

named_value!(ScopeRule, Order, ArchiveFormat, StateKind, Special);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_have_units() {
        assert_eq!(Duration::parse("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(Duration::parse("2"), Ok(Duration::from_secs(2)));
        assert_eq!(Duration::parse("2h").unwrap().toml(), "\"2h\"");
        assert_eq!(Duration::ZERO.toml(), "\"0s\"");
        assert!(Duration::parse("2 fortnights").is_err());
        assert!(Duration::parse("soon").is_err());
        assert!(Duration::parse("99999999999999999999d").is_err());
        assert!(Duration::parse("36501d").is_err());
        assert!(Size::parse("99999999999999999Ti").is_err());
        assert_eq!(Size::parse("64Mi"), Ok(Size(64 << 20)));
        assert_eq!(Size::parse("1GB"), Ok(Size(1_000_000_000)));
        assert_eq!(Size(64 << 20).toml(), "\"64Mi\"");
        assert!(Size::parse("5 apples").is_err());
        assert_eq!(Limit::parse("none"), Ok(Limit(None)));
        assert_eq!(Limit::parse("10_000"), Ok(Limit(Some(10_000))));
        assert!(Limit::parse("-1").is_err());
    }
}
