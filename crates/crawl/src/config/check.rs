//! What a setting may be: told before anything is done with it.

use std::time::Duration;

use super::{Config, ConfigError, Size};
use crate::judge::LinkRules;
use crate::shared::{dns_config, fetch_config};

/// A setting, its value, and the least and the most it may be.
type Range = (&'static str, u64, u64, u64);

const NO_LIMIT: u64 = u64::MAX;

pub fn check(config: &Config) -> Result<(), ConfigError> {
    check_numbers(config)?;
    check_times(config)?;
    let is_plain = |c: char| matches!(c, ' '..='~');
    if config.agent.trim().is_empty() || !config.agent.chars().all(is_plain) {
        return Err(ConfigError::value(
            "agent",
            "must be a line of plain ASCII text, such as mybot/1.0 (+https://example.org/bot)"
                .to_owned(),
        ));
    }
    if config.types.is_empty() {
        return Err(ConfigError::value(
            "types",
            "names no content type; */* takes all".to_owned(),
        ));
    }
    // The lists are read by those who use them.
    LinkRules::new(config)?;
    fetch_config(config)?;
    dns_config(config)?;
    Ok(())
}

fn check_numbers(config: &Config) -> Result<(), ConfigError> {
    let count = |key, value: usize, least, most| (key, value as u64, least, most);
    let rate = config.max_rate.0.unwrap_or(1);
    let counts: [Range; 20] = [
        count("threads", config.threads, 1, 256),
        count("connections", config.connections, 1, 1_000_000),
        count("per_host", config.per_host, 1, 10_000),
        count("per_address", config.per_address, 1, 1_000_000),
        count("visits_per_turn", config.visits_per_turn, 1, NO_LIMIT),
        count(
            "hosts_per_connection",
            config.hosts_per_connection,
            1,
            10_000,
        ),
        count("max_bench", config.max_bench, 1, NO_LIMIT),
        count("max_waiting_hosts", config.max_waiting_hosts, 1, NO_LIMIT),
        count("checkpoint_visits", config.checkpoint_visits, 1, NO_LIMIT),
        count("robots_cache", config.robots_cache, 1, NO_LIMIT),
        count("exchange_batches", config.exchange_batches, 1, NO_LIMIT),
        count("host_failures", config.host_failures, 1, NO_LIMIT),
        count("retries", config.retries, 0, 1000),
        count("max_redirects", config.max_redirects, 0, 1000),
        count("max_headers", config.max_headers, 1, 16_384),
        count("max_links", config.max_links, 0, 10_000_000),
        count("max_anchor", config.max_anchor, 0, 1 << 20),
        count("delay_factor", config.delay_factor, 0, 10_000),
        ("max_rate", rate, 1, 1_000_000_000),
        count("dns_cache", config.dns_cache, 0, 1 << 32),
    ];
    for (key, value, least, most) in counts {
        if value < least {
            return Err(ConfigError::value(
                key,
                format!("{value} is too small: at least {least}"),
            ));
        }
        if value > most {
            return Err(ConfigError::value(
                key,
                format!("{value} is too large: at most {most}"),
            ));
        }
    }
    let sizes = [
        // Less than its smallest buffers take would be no limit at all.
        ("memory", config.memory, 64 << 10),
        ("max_body", config.max_body, 1),
        ("max_header", config.max_header, 1 << 10),
        ("document_memory", config.document_memory, 64 << 10),
        (
            "max_bandwidth",
            Size(config.max_bandwidth.0.unwrap_or(1)),
            1,
        ),
        ("commit_bytes", config.commit_bytes, 64 << 10),
        ("warc_roll", config.warc_roll, 1 << 10),
        ("journal_roll", config.journal_roll, 1 << 10),
    ];
    for (key, size, least) in sizes {
        if size.0 < least {
            let least = match least >> 10 {
                0 => format!("{least}"),
                kibibytes => format!("{kibibytes}Ki"),
            };
            return Err(ConfigError::value(
                key,
                format!("{} bytes are too few: at least {least}", size.0),
            ));
        }
    }
    Ok(())
}

/// A time-out of nothing would end every visit, and work that is due after
/// no time at all would be due for ever.
fn check_times(config: &Config) -> Result<(), ConfigError> {
    let times = [
        ("connect_timeout", config.connect_timeout),
        ("first_byte_timeout", config.first_byte_timeout),
        ("idle_timeout", config.idle_timeout),
        ("total_timeout", config.total_timeout),
        ("dns_timeout", config.dns_timeout),
        ("checkpoint_interval", config.checkpoint_interval),
        ("sync_interval", config.sync_interval),
    ];
    for (key, time) in times {
        if time < Duration::from_millis(1) {
            return Err(ConfigError::value(key, "must be at least 1ms".to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_sound() {
        assert_eq!(check(&Config::default()), Ok(()));
    }

    #[test]
    fn what_cannot_work_is_told_with_what_can() {
        for (key, text, told) in [
            (
                "types",
                "garbage",
                "`garbage` is not a media type such as text/html",
            ),
            ("types", "", "*/* takes all"),
            ("follow", "a,nonsense", "`nonsense` is no kind of link"),
            ("follow", "a,nonsense", "iframe"),
            ("memory", "1k", "1000 bytes are too few: at least 64Ki"),
            ("threads", "257", "257 is too large: at most 256"),
            ("connections", "0", "0 is too small: at least 1"),
            ("host_failures", "0", "at least 1"),
            ("retries", "1001", "at most 1000"),
            ("idle_timeout", "0s", "at least 1ms"),
            ("resolve", "a.test=127.0.0.1:80", "without a port"),
            ("resolve", "a.test=[::1]:80", "without a port"),
            (
                "resolve",
                "a.test:80=127.0.0.1",
                "`a.test:80` is not a host name",
            ),
            ("resolve", "http://a.test/=127.0.0.1", "is not a host name"),
            (
                "resolve",
                "a.test=nowhere",
                "`nowhere` is not an IP address",
            ),
            ("resolve", "a.test", "HOST=ADDRESS"),
            ("dns", "127.0.0.1:0", "port 0"),
            ("dns", "ns.test", "ADDRESS:PORT"),
            ("agent", "räuber", "plain ASCII"),
        ] {
            let mut config = Config::default();
            config.set(key, text).unwrap();
            let error = check(&config).unwrap_err().to_string();
            assert!(error.contains(&format!("setting `{key}`")), "{error}");
            assert!(error.contains(told), "no {told} in {error}");
        }
    }

    #[test]
    fn fixed_answers_may_be_for_any_name() {
        let mut config = Config::default();
        let given = "*=127.0.0.1, B\u{fc}cher.test=::1, a.test=[::1]";
        config.set("resolve", given).unwrap();
        let overrides = dns_config(&config).unwrap().overrides;
        let names: Vec<&str> = overrides.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["*", "xn--bcher-kva.test", "a.test"]);
    }
}
