//! `rhumb fetch`: one page as the crawler sees it.

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use rhumb_crawl::{Config, dns_config, fetch_config, judged, outcome_of_failure, read_links};
use rhumb_fetch::{Document, Fetcher, Resolver, Unwanted, WantedTypes};
use rhumb_page::{Options, Page, Target};
use rhumb_robots::product_token;
use rhumb_store::{Outcome, State};
use rhumb_url::Url;

use crate::args::FetchArgs;
use crate::commands::effective_config;
use crate::failure::Failure;
use crate::figures::{bytes, count};
use crate::output::say;

pub fn run(args: &FetchArgs) -> Result<ExitCode, Failure> {
    let url = Url::parse_seed(&args.url)
        .map_err(|why| Failure::Usage(format!("`{}`: {why}; {}", args.url, why.remedy())))?;
    let config = effective_config(None, &args.settings.as_settings())?;
    let document = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::io("runtime"))?
        .block_on(fetch(&url, &config))?;
    let (outcome, detail) = judged(&document);
    if outcome.state() == State::Refused {
        let setting = match outcome {
            Outcome::UnwantedSize => "max_body",
            _ => "types",
        };
        say(format_args!(
            "rhumb: a crawl drops this page: {outcome}: {detail} (setting `{setting}`)"
        ));
    }
    let options = Options {
        agent: product_token(&config.agent).to_owned(),
        ..Options::default()
    };
    let page = read_links(&document, &options);
    let mut out = BufWriter::new(std::io::stdout().lock());
    show(&mut out, args, &document, &page)
        .and_then(|()| out.flush())
        .map_err(Failure::output)?;
    Ok(ExitCode::SUCCESS)
}

async fn fetch(url: &Url, config: &Config) -> Result<Document, Failure> {
    let failed = |failure: rhumb_fetch::Failure| {
        let outcome = outcome_of_failure(&failure);
        Failure::NothingFetched(format!(
            "{url}: {outcome}: {failure}\nCheck the URL and the network; --resolve and --dns tell where names live."
        ))
    };
    let resolver =
        Resolver::new(&dns_config(config)?).map_err(|e| Failure::Usage(e.to_string()))?;
    let mut fetch_config = fetch_config(config)?;
    // Asked for by a person: it is read whatever its type, and what a crawl
    // would make of it is told.
    let wanted = std::mem::replace(&mut fetch_config.wanted, WantedTypes::all());
    let fetcher = Fetcher::new(fetch_config).map_err(|e| Failure::Usage(e.to_string()))?;
    let addresses = resolver.resolve(url.name()).await.map_err(failed)?;
    let mut connection = fetcher.connect(url, &addresses).await.map_err(failed)?;
    let mut document = connection.get(url, None).await.map_err(failed)?;
    let kind = document.content_type().unwrap_or_default().to_owned();
    if (200..300).contains(&document.status) && !wanted.wants(Some(&kind)) {
        document.unwanted = Some(Unwanted::Type(kind));
    }
    Ok(document)
}

fn show(
    out: &mut impl Write,
    args: &FetchArgs,
    document: &Document,
    page: &Page,
) -> std::io::Result<()> {
    let mut shown = false;
    if args.headers {
        out.write_all(&document.request)?;
        out.write_all(&document.wire[..document.head_len])?;
        shown = true;
    }
    if args.links {
        for link in &page.links {
            let (url, note) = match &link.target {
                Target::Url(url) => (url.as_str(), String::new()),
                Target::Refused { text, why } => (text.as_str(), format!(" ({why})")),
            };
            writeln!(out, "{}\t{url}\t{}{note}", link.kind, link.anchor)?;
        }
        shown = true;
    }
    if args.text {
        writeln!(out, "{}", page.text)?;
        shown = true;
    }
    if args.raw {
        out.write_all(&document.body)?;
        shown = true;
    }
    if shown {
        Ok(())
    } else {
        overview(out, document, page)
    }
}

fn overview(out: &mut impl Write, document: &Document, page: &Page) -> std::io::Result<()> {
    let mut row = |label: &str, text: String| writeln!(out, "{label:<12} {text}");
    row("URL", document.url.to_string())?;
    let (outcome, detail) = judged(document);
    let gap = if detail.is_empty() { "" } else { ": " };
    row("outcome", format!("{outcome}{gap}{detail}"))?;
    row("status", document.status.to_string())?;
    row("address", document.remote.to_string())?;
    row(
        "type",
        format!(
            "{}, charset {}",
            document.content_type().unwrap_or("not stated"),
            page.charset
        ),
    )?;
    row(
        "size",
        format!(
            "{} on the wire, {} decoded",
            bytes(document.wire.len() as u64),
            bytes(document.body.len() as u64)
        ),
    )?;
    row(
        "time",
        format!(
            "first byte {:.1} ms, total {:.1} ms",
            document.first_byte.as_secs_f64() * 1000.0,
            document.total.as_secs_f64() * 1000.0
        ),
    )?;
    if let Some(to) = document.location() {
        row("redirect", to.into_owned())?;
    }
    if let Some(truncated) = document.truncated {
        row("truncated", truncated.as_str().to_owned())?;
    }
    if let Some(title) = &page.title {
        row("title", title.clone())?;
    }
    for content in &page.meta_robots {
        row("robots", content.clone())?;
    }
    if let Some(canonical) = &page.canonical {
        row("canonical", canonical.to_string())?;
    }
    let internal = page.links.iter().filter(|link| link.internal).count();
    row(
        "links",
        format!(
            "{} ({} internal)",
            count(page.links.len() as u64),
            count(internal as u64)
        ),
    )?;
    row(
        "text",
        format!(
            "{} words",
            count(page.text.split_whitespace().count() as u64)
        ),
    )
}
