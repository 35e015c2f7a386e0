//! What the elements of each kind of file are called.

use super::entry::SitemapKind;

/// A part of an entry that is told by the text of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Location,
    /// A name for the entry that may be its URL, if it has no other.
    Identity,
    LastModified,
    /// Counts where no later change is told.
    Published,
    ChangeFrequency,
    Priority,
}

const SITEMAP_NAMESPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";
const ATOM_NAMESPACE: &str = "http://www.w3.org/2005/Atom";

pub(super) fn kind_of_root(name: &str) -> Option<SitemapKind> {
    Some(match name {
        "sitemapindex" => SitemapKind::Index,
        "urlset" => SitemapKind::UrlSet,
        // RSS 1.0 is RDF; RSS 2.0 is not.
        "rss" | "RDF" => SitemapKind::Rss,
        "feed" => SitemapKind::Atom,
        _ => return None,
    })
}

/// The namespace of the root; RSS has none of its own.
pub(super) fn namespace(kind: SitemapKind) -> Option<&'static str> {
    match kind {
        SitemapKind::Index | SitemapKind::UrlSet => Some(SITEMAP_NAMESPACE),
        SitemapKind::Atom => Some(ATOM_NAMESPACE),
        SitemapKind::Rss | SitemapKind::Text => None,
    }
}

/// What may stand between the root and the entries.
pub(super) fn is_container(kind: SitemapKind, name: &str) -> bool {
    kind_of_root(name) == Some(kind) || (kind == SitemapKind::Rss && name == "channel")
}

pub(super) fn is_entry(kind: SitemapKind, name: &str) -> bool {
    name == match kind {
        SitemapKind::Index => "sitemap",
        SitemapKind::UrlSet => "url",
        SitemapKind::Rss => "item",
        SitemapKind::Atom => "entry",
        SitemapKind::Text => return false,
    }
}

pub(super) fn field(kind: SitemapKind, name: &str) -> Option<Field> {
    Some(match (kind, name) {
        (SitemapKind::Index | SitemapKind::UrlSet, "loc") => Field::Location,
        (SitemapKind::Index | SitemapKind::UrlSet, "lastmod") => Field::LastModified,
        (SitemapKind::UrlSet, "changefreq") => Field::ChangeFrequency,
        (SitemapKind::UrlSet, "priority") => Field::Priority,
        (SitemapKind::Rss, "link") => Field::Location,
        (SitemapKind::Rss, "guid") => Field::Identity,
        (SitemapKind::Rss, "pubDate") => Field::LastModified,
        (SitemapKind::Atom, "id") => Field::Identity,
        (SitemapKind::Atom, "updated") => Field::LastModified,
        (SitemapKind::Atom, "published") => Field::Published,
        _ => return None,
    })
}

/// RSS 1.0 has its dates from another vocabulary.
pub(super) fn is_foreign_date(kind: SitemapKind, prefix: &str, name: &str) -> bool {
    kind == SitemapKind::Rss && prefix == "dc" && name == "date"
}
