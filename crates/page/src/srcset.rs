//! The candidates of a `srcset`: `small.jpg 480w, large.jpg 2x`.

/// The references in a `srcset`, by the HTML standard's steps: a reference may
/// hold commas, but not begin or end with one.
pub(crate) fn candidates(srcset: &str) -> impl Iterator<Item = &str> {
    let mut rest = srcset;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c == ',' || c.is_ascii_whitespace());
        if rest.is_empty() {
            return None;
        }
        let end = rest
            .find(|c: char| c.is_ascii_whitespace())
            .unwrap_or(rest.len());
        let (reference, behind) = rest.split_at(end);
        let bare = reference.trim_end_matches(',');
        rest = if bare.len() < reference.len() {
            behind
        } else {
            &behind[descriptors_end(behind)..]
        };
        Some(bare)
    })
}

/// Behind the comma that ends the descriptors; one in brackets does not.
fn descriptors_end(text: &str) -> usize {
    let mut in_brackets = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => in_brackets = true,
            b')' => in_brackets = false,
            b',' if !in_brackets => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_srcsets() {
        for (srcset, expected) in [
            ("a.jpg", vec!["a.jpg"]),
            ("a.jpg 1x, b.jpg 2x", vec!["a.jpg", "b.jpg"]),
            ("a.jpg, b.jpg 2x,c.jpg", vec!["a.jpg", "b.jpg", "c.jpg"]),
            (
                "/w_1,h_2/a.jpg 480w,/w_3,h_4/a.jpg 2x",
                vec!["/w_1,h_2/a.jpg", "/w_3,h_4/a.jpg"],
            ),
            ("a.jpg 1x (b, c) 2x, d.jpg", vec!["a.jpg", "d.jpg"]),
            (" ,, a.jpg,,, ,", vec!["a.jpg"]),
            (
                "data:image/png;base64,AAAA 1x",
                vec!["data:image/png;base64,AAAA"],
            ),
            ("", vec![]),
        ] {
            assert_eq!(candidates(srcset).collect::<Vec<_>>(), expected, "{srcset}");
        }
    }
}
