//! What a page itself asks of robots, in a meta tag or a header.

/// The wishes of one page. Without a wish everything is allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MetaRobots {
    pub noindex: bool,
    pub nofollow: bool,
    pub noarchive: bool,
}

impl MetaRobots {
    /// Read the `content` of `<meta name="robots">` (or of the agent's name).
    pub fn parse_meta(content: &str) -> MetaRobots {
        content
            .split(',')
            .fold(MetaRobots::default(), |wishes, word| wishes.with(word))
    }

    /// Read the value of an `X-Robots-Tag` header. Wishes can be addressed:
    /// those behind `otherbot:` count only for that agent.
    pub fn parse_header(value: &str, agent_token: &str) -> MetaRobots {
        let mut wishes = MetaRobots::default();
        let mut for_us = true;
        for word in value.split(',') {
            match word.split_once(':') {
                Some((name, word)) if is_agent(name) => {
                    let name = name.trim();
                    for_us = name == "*" || name.eq_ignore_ascii_case(agent_token);
                    if for_us {
                        wishes = wishes.with(word);
                    }
                }
                _ if for_us => wishes = wishes.with(word),
                _ => {}
            }
        }
        wishes
    }

    /// Both wishes together: the stricter one wins.
    pub fn or(self, other: MetaRobots) -> MetaRobots {
        MetaRobots {
            noindex: self.noindex || other.noindex,
            nofollow: self.nofollow || other.nofollow,
            noarchive: self.noarchive || other.noarchive,
        }
    }

    fn with(mut self, word: &str) -> MetaRobots {
        let word = word.trim();
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        self.noindex |= is("noindex") || is("none");
        self.nofollow |= is("nofollow") || is("none");
        self.noarchive |= is("noarchive") || is("nocache");
        self
    }
}

/// `googlebot: noindex` names an agent; `unavailable_after: 1 May 2030 10:00`
/// and the end of that date do not.
fn is_agent(name: &str) -> bool {
    const WITH_VALUE: [&str; 4] = [
        "unavailable_after",
        "max-snippet",
        "max-image-preview",
        "max-video-preview",
    ];
    let name = name.trim();
    let is_token = !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'*'));
    is_token
        && !WITH_VALUE
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(wishes: MetaRobots) -> String {
        [
            (wishes.noindex, 'i'),
            (wishes.nofollow, 'f'),
            (wishes.noarchive, 'a'),
        ]
        .iter()
        .filter(|(wished, _)| *wished)
        .map(|(_, letter)| *letter)
        .collect()
    }

    #[test]
    fn meta_tags_are_lists_of_words() {
        for (content, expected) in [
            ("", ""),
            ("index, follow", ""),
            ("all", ""),
            ("noindex", "i"),
            ("NOINDEX,NoFollow", "if"),
            (" none ", "if"),
            ("nofollow,, noarchive , x", "fa"),
            ("noindexed", ""),
            ("max-snippet:-1, noindex", "i"),
        ] {
            assert_eq!(
                letters(MetaRobots::parse_meta(content)),
                expected,
                "{content}"
            );
        }
    }

    #[test]
    fn headers_may_speak_to_one_agent() {
        for (value, expected) in [
            ("noindex", "i"),
            ("noindex, nofollow", "if"),
            ("rhumb: noindex, nofollow", "if"),
            ("Rhumb:noindex", "i"),
            ("otherbot: noindex, nofollow", ""),
            ("nofollow, otherbot: noindex", "f"),
            ("otherbot: noindex, rhumb: noarchive", "a"),
            ("otherbot: noindex, *: noarchive", "a"),
            (
                "unavailable_after: Wed, 03 Jun 2020 15:00:00 GMT, noindex",
                "i",
            ),
            ("max-snippet: 20, nofollow", "f"),
            (":,::,", ""),
        ] {
            assert_eq!(
                letters(MetaRobots::parse_header(value, "rhumb")),
                expected,
                "{value}"
            );
        }
    }

    #[test]
    fn the_stricter_wish_wins() {
        let tag = MetaRobots::parse_meta("noindex");
        let header = MetaRobots::parse_header("nofollow", "rhumb");
        assert_eq!(letters(tag.or(header)), "if");
        assert_eq!(tag.or(MetaRobots::default()), tag);
    }
}
