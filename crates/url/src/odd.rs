//! Odd URLs and references for tests: the same ones from the same seed.

use crate::Url;

const SCHEMES: [&str; 6] = [
    "http://",
    "https://",
    "HTTP://",
    "http:",
    "http:/",
    "https:\\\\",
];
const NAMES: [&str; 22] = [
    "example.org",
    "www.example.org",
    "a.b-c.example.co.uk",
    "Example.ORG",
    "example.org.",
    "a_b.example.org",
    "localhost",
    "127.0.0.1",
    "0x7f.1",
    "1.2.3",
    "a.1x",
    "a.0x1",
    "[::1]",
    "[2001:DB8::1]",
    "bücher.de",
    "xn--bcher-kva.de",
    "xn--a",
    "a..b",
    "",
    "exa%6dple.org",
    "user@example.org",
    "ab--cd.example.org",
];
const PORTS: [&str; 10] = [
    "", "", "", "", ":80", ":443", ":8080", ":", ":080", ":65536",
];
const PIECES: [&str; 64] = [
    "a",
    "b",
    "index.html",
    "foo",
    "Bar",
    "x-y",
    "1",
    "z_9",
    "~me",
    "/",
    "/",
    "/",
    "/",
    "/",
    "//",
    ".",
    "..",
    "/./",
    "/../",
    "...",
    "/.a",
    "a.",
    "%2e",
    "%2E%2e/",
    "%66",
    "%2f",
    "%2F",
    "%",
    "%%",
    "%3",
    "%36",
    "%zz",
    "%C3%bc",
    "ü",
    "ツ",
    " ",
    "\t",
    "\n",
    "\u{1}",
    "\u{80}",
    "?",
    "?",
    "&a=1",
    "=",
    "+",
    "'",
    "\"",
    "<",
    ">",
    "[",
    "]",
    "{",
    "}",
    "|",
    "\\",
    "^",
    "`",
    "#",
    "#frag",
    ":",
    "@",
    ";",
    "*",
    "$",
];
/// Pieces that a plain reference is made of.
const PLAIN: usize = 14;

pub(crate) struct Generator {
    state: u64,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Generator {
        Generator { state: seed | 1 }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as usize % limit
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    fn target(&mut self) -> String {
        let pieces = if self.below(2) == 0 {
            &PIECES[..PLAIN]
        } else {
            &PIECES[..]
        };
        (0..self.below(9)).map(|_| self.pick(pieces)).collect()
    }

    pub(crate) fn absolute(&mut self) -> String {
        let scheme = if self.below(2) == 0 {
            self.pick(&SCHEMES[..2])
        } else {
            self.pick(&SCHEMES)
        };
        let slash = self.pick(&["/", "/", "/", "", "?"]);
        let (name, port) = (self.pick(&NAMES), self.pick(&PORTS));
        format!("{scheme}{name}{port}{slash}{}", self.target())
    }

    pub(crate) fn reference(&mut self, base: &Url) -> String {
        match self.below(8) {
            0 | 1 => self.absolute(),
            2 => format!("//{}/{}", self.pick(&NAMES), self.target()),
            3 => format!("/{}", self.target()),
            4 => format!("?{}", self.target()),
            5 => format!("{}{}", base.origin(), self.target()),
            6 => format!(" {}\n", self.target()),
            _ => self.target(),
        }
    }
}
