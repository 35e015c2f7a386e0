//! Who is measured, and by which command line.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::BenchError;
use crate::program;
use crate::served::Served;

/// `wrk` asks for these many different pages at most: it holds them all.
const MAX_WRK_PAGES: usize = 50_000;
const WRK_SECONDS: u32 = 4;
/// Open connections of wrk. More make it no faster.
const WRK_CONNECTIONS: u32 = 32;
/// Threads of wget2: its default, and the one at which it needs the least
/// processor time (1, 5 and 16 were tried).
const WGET_THREADS: u32 = 5;

/// Walks through a list of prepared requests, so that wrk itself does next to
/// nothing but send and receive.
const WRK_SCRIPT: &str = r#"local requests, at = {}, 0
function init(arguments)
  for line in io.lines(arguments[1]) do
    local host, path = line:match("^(%S+) (%S+)$")
    local headers = { ["Host"] = host, ["Accept-Encoding"] = "gzip" }
    requests[#requests + 1] = wrk.format("GET", path, headers)
  end
end
function request()
  at = at % #requests + 1
  return requests[at]
end
"#;

pub struct Client {
    pub name: &'static str,
    words: Vec<String>,
    /// Removed after every run.
    leaves: Option<PathBuf>,
    /// Long paths, and what the reader sees in their place.
    hidden: Vec<(String, &'static str)>,
}

impl Client {
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }

    /// The command line as a reader can repeat it.
    pub fn command_line(&self) -> String {
        let quoted = |word: &String| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+".contains(c);
            if word.chars().all(plain) {
                word.clone()
            } else {
                format!("'{word}'")
            }
        };
        let mut line = self.words.iter().map(quoted).collect::<Vec<_>>().join(" ");
        for (long, short) in &self.hidden {
            line = line.replace(long, short);
        }
        line
    }

    pub fn clean_up(&self) -> Result<(), BenchError> {
        match &self.leaves {
            Some(folder) if folder.exists() => std::fs::remove_dir_all(folder)
                .map_err(BenchError::io(folder.display().to_string())),
            _ => Ok(()),
        }
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn write(path: &Path, text: &str) -> Result<(), BenchError> {
    std::fs::write(path, text).map_err(BenchError::io(path.display().to_string()))
}

pub fn rhumb(
    program: &Path,
    served: &Served,
    folder: &Path,
    name: &'static str,
    warc: &str,
) -> Client {
    let dir = folder.join(format!("crawl-{warc}"));
    let (program, place) = (program.display().to_string(), dir.display().to_string());
    let mut line = vec![program.clone(), "crawl".to_owned(), served.seed.clone()];
    line.extend(words(["--scope", "any", "--delay", "0s", "--threads", "1"]));
    line.extend(words([
        "--dns",
        &served.dns,
        "--warc",
        warc,
        "--quiet",
        "--dir",
        &place,
    ]));
    Client {
        name,
        words: line,
        leaves: Some(dir),
        hidden: vec![(program, "rhumb"), (place, "DIR")],
    }
}

/// The limit: pages of all hosts from one address, by the `Host` header.
pub fn wrk(served: &Served, folder: &Path) -> Result<Option<Client>, BenchError> {
    // Without arguments wrk prints its usage and ends with 1.
    if !program::works(&["sh", "-c", "command -v wrk"]) {
        return Ok(None);
    }
    let (script, list) = (folder.join("pages.lua"), folder.join("pages"));
    write(&script, WRK_SCRIPT)?;
    let pages = &served.truth.pages;
    let step = pages.len().div_ceil(MAX_WRK_PAGES).max(1);
    let mut lines = String::new();
    for url in pages.iter().step_by(step) {
        let rest = url.trim_start_matches("http://");
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        // Writing to a `String` cannot fail.
        let _ = writeln!(lines, "{host} /{path}");
    }
    write(&list, &lines)?;
    let script = script.display().to_string();
    let list = list.display().to_string();
    let mut line = words(["wrk", "--threads", "1"]);
    line.push(format!("--connections={WRK_CONNECTIONS}"));
    line.push(format!("--duration={WRK_SECONDS}s"));
    line.push(format!("--script={script}"));
    line.push(format!("http://127.0.0.1:{}/", served.port));
    line.extend(["--".to_owned(), list.clone()]);
    Ok(Some(Client {
        name: "wrk (limit)",
        words: line,
        leaves: None,
        hidden: vec![(script, "pages.lua"), (list, "PAGES")],
    }))
}

/// What a rival does with the pages.
#[derive(Clone, Copy, PartialEq)]
pub enum Keeps {
    /// Each in a file of its own, as it does by itself.
    Files,
    Nothing,
}

/// The rival: a whole recursive crawl. It is told not to fetch styles, scripts
/// and images, because rhumb does not fetch them either. The error says why it
/// cannot take part.
pub fn wget2(
    served: &Served,
    folder: &Path,
    keeps: Keeps,
) -> Result<Result<Client, String>, BenchError> {
    let Some(help) = program::output(&["wget2", "--help"]) else {
        return Ok(Err("wget2 is missing: apt-get install wget2".to_owned()));
    };
    let hosts = folder.join("hosts");
    let mut lines = String::from("127.0.0.1 localhost\n");
    for (address, name) in served.names() {
        let _ = writeln!(lines, "{address} {name}");
    }
    write(&hosts, &lines)?;
    let hosts = hosts.display().to_string();
    let mut line = words([
        "wget2",
        "--recursive",
        "--level=inf",
        "--span-hosts",
        "--quiet",
    ]);
    line.extend(words(["--robots=on", "--tries=1"]));
    let files = folder.join("wget2").display().to_string();
    line.push(match keeps {
        Keeps::Files => format!("--directory-prefix={files}"),
        Keeps::Nothing => "--output-document=/dev/null".to_owned(),
    });
    line.extend(words(["--filter-urls", "--reject-regex=/(static|img)/"]));
    line.push(format!("--max-threads={WGET_THREADS}"));
    line.push(served.seed.clone());
    if help.contains("--dns-cache-preload") {
        line.insert(1, format!("--dns-cache-preload={hosts}"));
    } else {
        // It asks the system's resolver: give it a hosts file of its own.
        let alone = ["-m", "-rm"];
        let Some(how) = alone
            .iter()
            .find(|how| program::works(&["unshare", how, "true"]))
        else {
            let why = "this wget2 cannot be told the names, and no mount namespace is allowed";
            return Ok(Err(why.to_owned()));
        };
        let mount = format!("mount --bind {hosts} /etc/hosts && exec \"$@\"");
        let mut wrapped = words(["unshare", how, "sh", "-c", &mount, "sh"]);
        wrapped.append(&mut line);
        line = wrapped;
    }
    Ok(Ok(Client {
        name: match keeps {
            Keeps::Files => "wget2 (rival)",
            Keeps::Nothing => "wget2, keeps nothing",
        },
        words: line,
        leaves: (keeps == Keeps::Files).then(|| folder.join("wget2")),
        hidden: vec![(files, "FILES"), (hosts, "HOSTS")],
    }))
}
