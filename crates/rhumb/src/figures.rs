//! Numbers as people read them.

use std::collections::BTreeMap;
use std::time::Duration;

/// `12,345,678`
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `12 this, 3 that`, the most frequent first.
pub fn by_kind(kinds: &BTreeMap<String, u64>) -> String {
    let mut sorted: Vec<_> = kinds.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1));
    let parts: Vec<String> = sorted
        .iter()
        .map(|(kind, n)| format!("{} {kind}", count(**n)))
        .collect();
    parts.join(", ")
}

/// What is said of links that were left out, behind the others.
pub fn beyond_max_links(dropped: u64) -> String {
    match dropped {
        0 => String::new(),
        dropped => format!("; {} more beyond max_links", count(dropped)),
    }
}

/// `1.5 MiB`
pub fn bytes(n: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{n} B")
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

/// `1:02:03` or `2:03`
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else {
        format!("{minutes}:{rest:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_grouped_and_scaled() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(12), "12 B");
        assert_eq!(clock(Duration::from_secs(3723)), "1:02:03");
    }
}
