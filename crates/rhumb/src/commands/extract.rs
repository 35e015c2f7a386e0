//! `rhumb extract`

use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use rhumb_crawl::Config;
use rhumb_page::{Link, Options, Page, Source, Target, extract};
use rhumb_robots::product_token;
use rhumb_url::Url;
use serde::Serialize;

use crate::args::ExtractArgs;
use crate::failure::Failure;

#[derive(Serialize)]
struct Extracted<'a> {
    title: Option<&'a str>,
    text: &'a str,
    links: Vec<ExtractedLink<'a>>,
    base: &'a str,
    canonical: Option<&'a str>,
    robots: &'a [String],
    description: Option<&'a str>,
    language: Option<&'a str>,
    charset: &'a str,
}

#[derive(Serialize)]
struct ExtractedLink<'a> {
    url: &'a str,
    kind: &'a str,
    rel: &'a str,
    anchor: &'a str,
    internal: bool,
    /// Why the crawl cannot hold it; then `url` is the text as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

pub fn run(args: &ExtractArgs) -> Result<ExitCode, Failure> {
    let url = Url::parse_seed(&args.url)
        .map_err(|why| Failure::Usage(format!("--url `{}`: {why}", args.url)))?;
    let body = read(&args.file)?;
    let page = extract(
        &Source {
            url: &url,
            body: &body,
            content_type: Some(&args.content_type),
            link_headers: &[],
            refresh_header: None,
        },
        &Options {
            max_links: usize::MAX,
            max_anchor: 1 << 16,
            max_text: usize::MAX,
            agent: product_token(&Config::default().agent).to_owned(),
            ..Options::default()
        },
    );
    let line =
        serde_json::to_string(&extracted(&page)).map_err(|e| Failure::Other(e.to_string()))?;
    writeln!(std::io::stdout(), "{line}").map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    if file == Path::new("-") {
        std::io::stdin()
            .read_to_end(&mut body)
            .map_err(Failure::io("standard input"))?;
    } else {
        body = std::fs::read(file).map_err(Failure::io(file.display().to_string()))?;
    }
    Ok(body)
}

fn extracted(page: &Page) -> Extracted<'_> {
    Extracted {
        title: page.title.as_deref(),
        text: &page.text,
        links: page.links.iter().map(extracted_link).collect(),
        base: page.base.as_str(),
        canonical: page.canonical.as_ref().map(Url::as_str),
        robots: &page.meta_robots,
        description: page.description.as_deref(),
        language: page.language.as_deref(),
        charset: page.charset,
    }
}

fn extracted_link(link: &Link) -> ExtractedLink<'_> {
    let (url, refused) = match &link.target {
        Target::Url(url) => (url.as_str(), None),
        Target::Refused { text, why } => (text.as_str(), Some(why.to_string())),
    };
    ExtractedLink {
        url,
        kind: link.kind.as_str(),
        rel: &link.rel,
        anchor: &link.anchor,
        internal: link.internal,
        refused,
    }
}
