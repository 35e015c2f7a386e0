//! Percent-escapes in one spelling (RFC 3986, 6.2.2).
//!
//! Escapes of unreserved characters are decoded, all others get upper-case
//! digits. A bare percent sign is left as it is: the server may mean it.

/// The normal spelling of a path and query, or `None` when it is that already.
pub(crate) fn normal(target: &str) -> Option<String> {
    let bytes = target.as_bytes();
    let first = bytes.iter().position(|&b| b == b'%')?;
    let mut out = String::with_capacity(target.len());
    out.push_str(&target[..first]);

    // How many of the next bytes could complete a bare percent sign. An escape
    // among them stays: `%%36%36` must not become `%66`, which would decode
    // again the next time.
    let mut completing = 0u8;
    let mut at = first;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte != b'%' {
            out.push(byte as char);
            completing = completing.saturating_sub(1);
            at += 1;
        } else if let Some(value) = escape(&bytes[at..]) {
            if completing == 0 && is_unreserved(value) {
                out.push(value as char);
            } else {
                out.push('%');
                out.push(bytes[at + 1].to_ascii_uppercase() as char);
                out.push(bytes[at + 2].to_ascii_uppercase() as char);
                completing = 0;
            }
            at += 3;
        } else {
            out.push('%');
            completing = 2;
            at += 1;
        }
    }
    (out != target).then_some(out)
}

/// The octet that the escape at the beginning of `bytes` stands for.
fn escape(bytes: &[u8]) -> Option<u8> {
    let high = (*bytes.get(1)? as char).to_digit(16)?;
    let low = (*bytes.get(2)? as char).to_digit(16)?;
    Some((high * 16 + low) as u8)
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn escapes_have_one_spelling() {
        for (input, expected) in [
            ("/plain", "/plain"),
            ("/%66oo.ht%6d%6c", "/foo.html"),
            ("/9%2f11", "/9%2F11"),
            ("/%7emak", "/~mak"),
            ("/a%", "/a%"),
            ("/a%zz%77", "/a%zzw"),
            ("/a%z%77", "/a%z%77"),
            ("/%%36%36", "/%%366"),
            ("/%4%31", "/%4%31"),
            ("/%2566", "/%2566"),
        ] {
            let once = normal(input).unwrap_or_else(|| input.to_owned());
            assert_eq!(once, expected, "{input}");
            assert_eq!(normal(&once), None, "{input} twice");
        }
    }
}
