//! Where a sitemap lies, and so where the URLs in it may.

use rhumb_url::{Base, Refusal, Url};

pub(super) struct Place<'a> {
    base: Base<'a>,
    /// The path of the sitemap's folder, with a slash at its end.
    folder: &'a str,
}

impl<'a> Place<'a> {
    pub(super) fn of(at: &'a Url) -> Place<'a> {
        let path = at.path();
        Place {
            base: Base::new(at),
            folder: &path[..path.rfind('/').map_or(0, |slash| slash + 1)],
        }
    }

    /// The URL that an entry means. It should be absolute; a forgotten scheme
    /// and references to the sitemap's own place are understood too.
    pub(super) fn resolve(&self, text: &str) -> Result<Url, Refusal> {
        if text.contains(char::REPLACEMENT_CHARACTER) {
            let why = "it was lost in a wrong encoding";
            return Err(Refusal::Malformed(why.to_owned()));
        }
        match self.begins_with_a_host(text) {
            true => Url::parse(&format!("{}://{text}", self.base.url().scheme().as_str())),
            false => self.base.join(text),
        }
    }

    /// As [`Place::resolve`], but a relative reference is refused: in a list of
    /// lines it could be anything.
    pub(super) fn resolve_absolute(&self, text: &str) -> Result<Url, Refusal> {
        match is_absolute(text) || self.begins_with_a_host(text) {
            true => self.resolve(text),
            false => Err(Refusal::NoHost),
        }
    }

    /// The protocol lets a sitemap speak only for its own folder.
    pub(super) fn covers(&self, url: &Url) -> bool {
        let at = self.base.url();
        url.origin() == at.origin() && url.path().starts_with(self.folder)
    }

    /// `www.example.org/page`: a folder of that name is far less likely.
    fn begins_with_a_host(&self, text: &str) -> bool {
        let host = &text[..text.find(['/', '?', '#', ':']).unwrap_or(text.len())];
        let is_www = host
            .get(..4)
            .is_some_and(|begin| begin.eq_ignore_ascii_case("www."));
        is_www || (!host.is_empty() && host.eq_ignore_ascii_case(self.base.url().name()))
    }
}

pub(super) fn is_absolute(text: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        text.get(..scheme.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str) -> Result<String, Refusal> {
        let at = Url::parse("http://example.org/maps/sitemap.xml?x=/y").unwrap();
        Place::of(&at).resolve(text).map(Url::into_string)
    }

    #[test]
    fn forgotten_beginnings_are_understood() {
        for (text, expected) in [
            ("https://a.test/x#y", "https://a.test/x"),
            ("www.a.test/x", "http://www.a.test/x"),
            ("WWW.a.test:8080", "http://www.a.test:8080/"),
            ("example.org/x", "http://example.org/x"),
            ("//a.test/x", "http://a.test/x"),
            ("/x", "http://example.org/x"),
            ("x", "http://example.org/maps/x"),
        ] {
            assert_eq!(resolved(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["ftp://a.test/", "http://", "mailto:a@a.test", "/\u{fffd}"] {
            assert!(resolved(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_sitemap_covers_its_folder() {
        let at = Url::parse("http://example.org/maps/sitemap.xml?x=/y").unwrap();
        let place = Place::of(&at);
        for (url, covered) in [
            ("http://example.org/maps/", true),
            ("http://example.org/maps/a/b?c", true),
            ("http://example.org/maps", false),
            ("http://example.org/mapsx/", false),
            ("http://example.org/", false),
            ("https://example.org/maps/", false),
            ("http://example.org:81/maps/", false),
            ("http://www.example.org/maps/", false),
            ("http://example.org.test/maps/", false),
        ] {
            assert_eq!(place.covers(&Url::parse(url).unwrap()), covered, "{url}");
        }
    }
}
