//! Where a refresh leads: `5; url=/next`, in a `meta` or in a header.

/// The reference in a refresh, by the HTML standard's steps. `None` if there
/// is none, which means "the same page again", or if it makes no sense.
pub(crate) fn refresh_target(content: &str) -> Option<&str> {
    let rest = content.trim_ascii_start();
    let rest = match rest.trim_start_matches(|c: char| c.is_ascii_digit()) {
        same if same.len() == rest.len() && !same.starts_with('.') => return None,
        behind => behind.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'),
    };
    if !rest.starts_with([';', ',']) && !rest.starts_with(|c: char| c.is_ascii_whitespace()) {
        return None;
    }
    let rest = rest.trim_ascii_start();
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest);
    let rest = rest.trim_ascii_start();
    if rest.is_empty() {
        return None;
    }
    let (target, may_be_quoted) = match behind_url(rest) {
        Some(behind) => (behind, true),
        None => (rest, !rest.starts_with(['u', 'U'])),
    };
    let target = match target.chars().next() {
        Some(quote @ ('"' | '\'')) if may_be_quoted => {
            let quoted = &target[1..];
            &quoted[..quoted.find(quote).unwrap_or(quoted.len())]
        }
        _ => target,
    };
    Some(target)
}

fn behind_url(text: &str) -> Option<&str> {
    let behind = text
        .get(..3)?
        .eq_ignore_ascii_case("url")
        .then(|| &text[3..])?;
    Some(
        behind
            .trim_ascii_start()
            .strip_prefix('=')?
            .trim_ascii_start(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_refreshes() {
        for (content, target) in [
            ("5; url=/next", Some("/next")),
            ("0;URL='/next' x", Some("/next")),
            ("0;url=\"/next", Some("/next")),
            ("0; /next", Some("/next")),
            ("0, '/next'", Some("/next")),
            (" 1.5 url = /a b", Some("/a b")),
            (".5;x", Some("x")),
            ("0;urls", Some("urls")),
            ("0;url/next", Some("url/next")),
            ("0", None),
            ("0;", None),
            ("", None),
            ("url=/next", None),
            ("5x;url=/next", None),
            ("0; url=", Some("")),
        ] {
            assert_eq!(refresh_target(content), target, "{content}");
        }
    }
}
