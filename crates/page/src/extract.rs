//! The one way from a fetched body to a [`Page`].

use encoding_rs::UTF_8;
use rhumb_url::Url;

use crate::charset::decode;
use crate::collapse::{Collapse, collapsed};
use crate::html::{self, is_canonical, rel_words};
use crate::link::{Link, LinkKind, Target};
use crate::link_header::header_links;
use crate::media_type::{Media, http_charset, media_of};
use crate::refresh::refresh_target;
use crate::resolve::Resolver;
use crate::{Options, Page, Source};

/// Read a page. HTML and XHTML give all a [`Page`] can hold, plain text only
/// text; of anything else only the headers are read.
pub fn extract(source: &Source, options: &Options) -> Page {
    let mut page = Page {
        title: None,
        text: String::new(),
        links: Vec::new(),
        base: source.url.clone(),
        canonical: None,
        meta_robots: Vec::new(),
        description: None,
        language: None,
        charset: UTF_8.name(),
        links_dropped: 0,
    };
    let media = media_of(source.content_type, source.body);
    match media {
        Media::Html | Media::Xhtml => html_page(source, media, options, &mut page),
        Media::Text => plain_text(source, options, &mut page),
        Media::Other => {}
    }
    from_headers(source, options, &mut page);
    page
}

fn html_page(source: &Source, media: Media, options: &Options, page: &mut Page) {
    let charset = http_charset(source.content_type);
    let decoded = decode(source.body, charset, true, source.url.name());
    let document = html::read(&decoded.text, media == Media::Xhtml, options);
    if let Some(base) = &document.base
        && let Ok(base) = Resolver::new(source.url, decoded.encoding).join(base)
    {
        page.base = base;
    }
    let resolver = Resolver::new(&page.base, decoded.encoding);
    page.links.reserve_exact(document.references.len());
    for reference in document.references {
        let target = resolver.resolve(&reference.text);
        if reference.kind == LinkKind::Canonical && page.canonical.is_none() {
            page.canonical = target.url().cloned();
        }
        let link = found(
            source.url,
            target,
            reference.kind,
            reference.rel,
            reference.anchor,
        );
        page.links.push(link);
    }
    page.title = document.title;
    page.text = document.text;
    page.meta_robots = document.meta_robots;
    page.description = document.description;
    page.language = document.language;
    page.charset = decoded.encoding.name();
    page.links_dropped = document.references_dropped;
}

fn plain_text(source: &Source, options: &Options, page: &mut Page) {
    let charset = http_charset(source.content_type);
    let decoded = decode(source.body, charset, false, source.url.name());
    page.charset = decoded.encoding.name();
    if options.text {
        let mut text = Collapse::new(options.max_text);
        for line in decoded.text.lines() {
            text.push_verbatim(line);
            text.line();
        }
        page.text = text.into_string();
    }
}

/// Links in headers belong to the address, whatever base the page names.
fn from_headers(source: &Source, options: &Options, page: &mut Page) {
    let resolver = Resolver::new(source.url, UTF_8);
    let mut add = |reference: &str, kind, rel: String, anchor| {
        if page.links.len() >= options.max_links {
            page.links_dropped += 1;
            return;
        }
        let target = resolver.resolve(reference);
        if kind == LinkKind::Header && is_canonical(&rel) && page.canonical.is_none() {
            page.canonical = target.url().cloned();
        }
        page.links
            .push(found(source.url, target, kind, rel, anchor));
    };
    for link in source
        .link_headers
        .iter()
        .flat_map(|value| header_links(value))
    {
        let rel = rel_words(link.rel);
        let title = collapsed(link.title, options.max_anchor);
        add(link.reference, LinkKind::Header, rel, title);
    }
    if let Some(target) = source.refresh_header.and_then(refresh_target) {
        add(target, LinkKind::Refresh, String::new(), String::new());
    }
}

fn found(page: &Url, target: Target, kind: LinkKind, rel: String, anchor: String) -> Link {
    let internal = target.url().is_some_and(|url| url.name() == page.name());
    Link {
        target,
        kind,
        rel,
        anchor,
        internal,
    }
}
