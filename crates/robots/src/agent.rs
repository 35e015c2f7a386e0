//! Names of robots.

/// The name in a robots.txt that an agent answers to: `rhumb` of
/// `rhumb/0.1 (+https://example.org/bot)`.
///
/// RFC 9309 allows letters, `_` and `-`; digits are accepted too, because real
/// robots have them in their names.
pub fn product_token(agent: &str) -> &str {
    let agent = agent.trim_start();
    &agent[..token_length(agent.as_bytes())]
}

/// Whom a `User-agent` line speaks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addressee<'a> {
    Everyone,
    Token(&'a [u8]),
}

impl<'a> Addressee<'a> {
    /// The value is read up to the first byte that no token has: `Foo Bar` and
    /// `Foo/1.0` both speak to `Foo`.
    pub(crate) fn of(value: &'a [u8]) -> Addressee<'a> {
        match value {
            [b'*'] => Addressee::Everyone,
            [b'*', next, ..] if next.is_ascii_whitespace() => Addressee::Everyone,
            _ => Addressee::Token(&value[..token_length(value)]),
        }
    }
}

fn token_length(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_the_first_word() {
        for (agent, token) in [
            ("rhumb/0.1 (+https://example.org/)", "rhumb"),
            ("Foobot-Bar", "Foobot-Bar"),
            ("Foo_Bar2 x", "Foo_Bar2"),
            (" rhumb", "rhumb"),
            ("", ""),
            ("ツ", ""),
            ("Foobot*", "Foobot"),
        ] {
            assert_eq!(product_token(agent), token);
        }
    }
}
