//! What a sitemap says of one URL.

use rhumb_url::Url;

/// What a file turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SitemapKind {
    /// Its entries are sitemaps.
    Index,
    UrlSet,
    Rss,
    Atom,
    /// One URL a line.
    Text,
}

impl SitemapKind {
    pub fn as_str(self) -> &'static str {
        match self {
            SitemapKind::Index => "index",
            SitemapKind::UrlSet => "urlset",
            SitemapKind::Rss => "rss",
            SitemapKind::Atom => "atom",
            SitemapKind::Text => "text",
        }
    }
}

/// A page, or in an index a sitemap.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub url: Url,
    /// Seconds since 1970 began; a day without a time is its first second.
    pub last_modified: Option<u64>,
    pub change_frequency: Option<ChangeFrequency>,
    /// From 0 to 1, beside the other pages of the site.
    pub priority: Option<f32>,
    /// The same page in other languages, itself often among them.
    pub alternates: Vec<Alternate>,
}

/// A translation of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternate {
    /// As written, such as `de-ch` or `x-default`.
    pub language: String,
    pub url: Url,
}

/// How often a page is said to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeFrequency {
    Always,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Yearly,
    Never,
}

impl ChangeFrequency {
    const ALL: [ChangeFrequency; 7] = [
        ChangeFrequency::Always,
        ChangeFrequency::Hourly,
        ChangeFrequency::Daily,
        ChangeFrequency::Weekly,
        ChangeFrequency::Monthly,
        ChangeFrequency::Yearly,
        ChangeFrequency::Never,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            ChangeFrequency::Always => "always",
            ChangeFrequency::Hourly => "hourly",
            ChangeFrequency::Daily => "daily",
            ChangeFrequency::Weekly => "weekly",
            ChangeFrequency::Monthly => "monthly",
            ChangeFrequency::Yearly => "yearly",
            ChangeFrequency::Never => "never",
        }
    }

    pub(super) fn read(text: &str) -> Option<ChangeFrequency> {
        ChangeFrequency::ALL
            .into_iter()
            .find(|frequency| text.eq_ignore_ascii_case(frequency.as_str()))
    }
}
