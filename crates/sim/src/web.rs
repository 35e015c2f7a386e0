//! The model: a host and a path in, a response out.

use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::time::Duration;

use flate2::{Compress, Compression, Crc, FlushCompress};

use crate::config::{ConfigError, WebConfig};
use crate::hash::{mix, scale};
use crate::host::{Charset, Host, salt};
use crate::html::Desk;
use crate::name;
use crate::sizes::Sizes;
use crate::slot::Slot;
use crate::vocabulary::Vocabulary;

/// Below this, compressing would make a body larger.
const WORTH_COMPRESSING: usize = 512;

/// A whole web, computed from its configuration. Asking it changes nothing.
pub struct Web {
    pub(crate) seed: u64,
    pub(crate) hosts: u32,
    pub(crate) pages: u64,
    pub(crate) port: u16,
    pub(crate) sizes: Sizes,
    pub(crate) vocabulary: Vocabulary,
}

/// A response as a client would see it, without its transfer coding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Response {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| *own == name)
            .map(|(_, value)| value.as_str())
    }
}

/// What a response is, apart from its body; and how it is to be sent.
pub(crate) struct Answer {
    pub status: u16,
    pub content_type: &'static str,
    pub location: Option<String>,
    pub gzip: bool,
    pub chunked: bool,
    pub closes: bool,
}

impl Answer {
    fn new(status: u16, content_type: &'static str) -> Answer {
        Answer {
            status,
            content_type,
            location: None,
            gzip: false,
            chunked: false,
            closes: false,
        }
    }

    /// Only GET and HEAD are served.
    pub fn refuse_method(&mut self) {
        *self = Answer::new(405, "text/plain");
    }
}

/// Working memory of one thread: only kept so that it need not be allocated
/// for each page.
#[derive(Default)]
struct Bench {
    desk: Desk,
    compressor: Option<Compress>,
    packed: Vec<u8>,
}

thread_local! {
    static BENCH: RefCell<Bench> = RefCell::new(Bench::default());
}

impl Web {
    pub fn new(config: &WebConfig) -> Result<Web, ConfigError> {
        config.check()?;
        Ok(Web {
            seed: config.seed,
            hosts: config.hosts,
            pages: config.pages,
            port: config.port,
            sizes: Sizes::new(config.hosts, config.pages),
            vocabulary: Vocabulary::new(config.seed),
        })
    }

    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// HTML pages in the trees of all hosts.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// The home page of the largest host, from which everything that can be
    /// reached is reached.
    pub fn seed_url(&self) -> String {
        self.home_url(0)
    }

    /// The home page of the host at a rank (0 is the largest).
    pub fn home_url(&self, rank: u32) -> String {
        self.text(|out| {
            self.write_origin(rank, out);
            out.push(b'/');
        })
    }

    /// The name of the host at a rank.
    pub fn host_name(&self, rank: u32) -> String {
        self.text(|out| name::write_name(rank, self.seed, out))
    }

    /// The address of a host by its name, in any case.
    pub fn address(&self, name: &str) -> Option<Ipv4Addr> {
        self.rank_of(name.as_bytes()).map(name::address)
    }

    /// Number of HTML pages in the tree of the host at a rank.
    pub fn host_pages(&self, rank: u32) -> u64 {
        if rank < self.hosts {
            self.sizes.of(rank)
        } else {
            0
        }
    }

    /// All names and paths are ASCII.
    pub(crate) fn text(&self, write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    pub(crate) fn rank_of(&self, name: &[u8]) -> Option<u32> {
        name::rank_of(name, self.seed, self.hosts)
    }

    /// What a request gets. `host` may carry a port; `target` is path and
    /// query.
    pub fn response(&self, host: &str, target: &str, accept_gzip: bool) -> Response {
        let mut body = Vec::new();
        let answer = self.answer(host, target, accept_gzip, &mut body);
        let mut headers = vec![("content-type", answer.content_type.to_owned())];
        if let Some(location) = answer.location {
            headers.push(("location", location));
        }
        if answer.gzip {
            headers.push(("content-encoding", "gzip".to_owned()));
        }
        Response {
            status: answer.status,
            headers,
            body,
        }
    }

    /// Fill `body`, which must be empty, and say what it is.
    pub(crate) fn answer(
        &self,
        host: &str,
        target: &str,
        accept_gzip: bool,
        body: &mut Vec<u8>,
    ) -> Answer {
        let name = host.split_once(':').map_or(host, |(name, _)| name);
        let Some(rank) = self.rank_of(name.as_bytes()) else {
            body.extend_from_slice(b"No such host is served here.\n");
            return Answer::new(421, "text/plain");
        };
        let host = self.host(rank);
        BENCH.with_borrow_mut(|bench| {
            let mut answer = self.fill(&host, target, &mut bench.desk, body);
            if host.gzip && accept_gzip && body.len() > WORTH_COMPRESSING {
                compress(bench, body);
                answer.gzip = true;
            }
            answer.chunked = host.chunked;
            answer.closes = host.closes;
            answer
        })
    }

    fn fill(&self, host: &Host, target: &str, desk: &mut Desk, body: &mut Vec<u8>) -> Answer {
        if target == "/robots.txt" {
            if self.write_robots(host, body) {
                return Answer::new(200, "text/plain");
            }
            return missing(body);
        }
        let Some(slot) = self.slot_of(host, target) else {
            if let Some(content_type) = self.write_decoration(target, body) {
                return Answer::new(200, content_type);
            }
            if target.starts_with("/sitemap") && self.write_sitemap(host, target, body) {
                return Answer::new(200, "application/xml");
            }
            return missing(body);
        };
        if let Some((rank, to)) = self.redirect_target(host, slot) {
            body.extend_from_slice(b"<!DOCTYPE html>\n<title>Moved</title>\n<p>Moved.</p>\n");
            return self.redirect(host, slot, rank, to);
        }
        match (slot, self.content_slot(slot)) {
            (Slot::Document(number), _) => {
                Answer::new(200, self.write_document(host, number, body))
            }
            (_, Some(content)) => {
                self.write_html(host, content, desk, body);
                Answer::new(200, html_type(host))
            }
            _ => missing(body),
        }
    }

    fn redirect(&self, host: &Host, slot: Slot, rank: u32, to: Slot) -> Answer {
        let r = mix(self.seed, salt::REDIRECT, host.content.into(), slot.key());
        let status = [301, 302, 307, 308][(r % 4) as usize];
        let location = self.text(|out| {
            // Inside a host, half of the targets are given without its name;
            // all of them where a mirror must say the same.
            if rank == host.rank && (host.mirrored || r & 4 == 0) {
                self.write_path(host, to, out);
            } else {
                self.write_url(&self.host(rank), to, out);
            }
        });
        let mut answer = Answer::new(status, "text/html");
        answer.location = Some(location);
        answer
    }

    /// How long the response to a request waits when the mean is `mean`:
    /// always the same for the same URL.
    pub(crate) fn latency(&self, mean: Duration, host: &str, target: &str) -> Duration {
        let text = host.bytes().chain(target.bytes());
        let number = text.fold(0u64, |sum, byte| {
            sum.wrapping_mul(0x100_0000_01b3).wrapping_add(byte.into())
        });
        let share = scale(mix(self.seed, salt::LATENCY, number, 0), 1_000) as u32;
        mean / 2 + mean / 1_000 * share
    }
}

fn html_type(host: &Host) -> &'static str {
    match (host.xhtml, host.charset) {
        (true, Charset::Windows1252InHeader) => "application/xhtml+xml; charset=windows-1252",
        (true, _) => "application/xhtml+xml",
        (false, Charset::Utf8InHeader) => "text/html; charset=utf-8",
        (false, Charset::Windows1252InHeader) => "text/html; charset=windows-1252",
        (false, _) => "text/html",
    }
}

fn missing(body: &mut Vec<u8>) -> Answer {
    body.extend_from_slice(
        b"<!DOCTYPE html>\n<html><head><title>Not found</title></head>\n\
          <body><h1>Not found</h1>\n<p><a href=\"/\">Home</a></p></body></html>\n",
    );
    Answer::new(404, "text/html; charset=utf-8")
}

/// Replace the body by its gzip form, made with the thread's one compressor.
fn compress(bench: &mut Bench, body: &mut Vec<u8>) {
    const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let compressor = bench
        .compressor
        .get_or_insert_with(|| Compress::new(Compression::fast(), false));
    compressor.reset();
    let packed = &mut bench.packed;
    packed.clear();
    packed.extend_from_slice(&HEADER);
    // Deflate never grows its input by more than this.
    packed.reserve(body.len() + body.len() / 1_000 + 128);
    // With room for all of the output and all input at hand there is nothing
    // that can fail.
    let _ = compressor.compress_vec(body, packed, FlushCompress::Finish);
    let mut crc = Crc::new();
    crc.update(body);
    packed.extend_from_slice(&crc.sum().to_le_bytes());
    packed.extend_from_slice(&crc.amount().to_le_bytes());
    std::mem::swap(packed, body);
}
