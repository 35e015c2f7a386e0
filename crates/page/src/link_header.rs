//! The HTTP `Link` header (RFC 8288): `</next>; rel="next", </feed>; rel=feed`.

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HeaderLink<'a> {
    pub(crate) reference: &'a str,
    pub(crate) rel: &'a str,
    pub(crate) title: &'a str,
}

/// The links of one header value. What is not a link is passed over.
pub(crate) fn header_links(value: &str) -> impl Iterator<Item = HeaderLink<'_>> {
    let mut rest = value;
    std::iter::from_fn(move || {
        let (_, behind) = rest.split_once('<')?;
        let (reference, parameters) = behind.split_once('>')?;
        let mut link = HeaderLink {
            reference,
            rel: "",
            title: "",
        };
        rest = read_parameters(parameters, &mut link);
        Some(link)
    })
}

/// Read `; name=value` as often as it comes, and return what is behind.
fn read_parameters<'a>(mut rest: &'a str, link: &mut HeaderLink<'a>) -> &'a str {
    loop {
        rest = rest.trim_ascii_start();
        let Some(parameter) = rest.strip_prefix(';') else {
            return rest;
        };
        let parameter = parameter.trim_ascii_start();
        let name_end = parameter.find(['=', ';', ',']).unwrap_or(parameter.len());
        let (name, behind) = parameter.split_at(name_end);
        let Some(value) = behind.strip_prefix('=') else {
            rest = behind;
            continue;
        };
        let value = value.trim_ascii_start();
        let (value, behind) = match value.strip_prefix('"') {
            Some(quoted) => {
                let end = quoted_end(quoted);
                let behind = &quoted[end..];
                (&quoted[..end], behind.strip_prefix('"').unwrap_or(behind))
            }
            None => value.split_at(value.find([';', ',']).unwrap_or(value.len())),
        };
        let slot = match name.trim_ascii() {
            name if name.eq_ignore_ascii_case("rel") => &mut link.rel,
            name if name.eq_ignore_ascii_case("title") => &mut link.title,
            _ => {
                rest = behind;
                continue;
            }
        };
        // Of two parameters with the same name the first counts.
        if slot.is_empty() {
            *slot = value.trim_ascii();
        }
        rest = behind;
    }
}

/// The closing quote, or the end. A backslash takes the next byte with it.
fn quoted_end(quoted: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in quoted.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at,
            _ => {}
        }
    }
    quoted.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Vec<(&str, &str, &str)> {
        header_links(value)
            .map(|link| (link.reference, link.rel, link.title))
            .collect()
    }

    #[test]
    fn links_of_headers() {
        assert_eq!(
            read(r#"</a,b>; rel="next"; title="x, \"y\" <z>", <c>;rel=prev up;q"#),
            [("/a,b", "next", r#"x, \"y\" <z>"#), ("c", "prev up", "")]
        );
        assert_eq!(read("<a>,<b>"), [("a", "", ""), ("b", "", "")]);
        assert_eq!(read("<a>; rel=x; rel=y"), [("a", "x", "")]);
        assert_eq!(read("nonsense, <a"), []);
        assert_eq!(read("<a>; rel=\"x"), [("a", "x", "")]);
    }
}
