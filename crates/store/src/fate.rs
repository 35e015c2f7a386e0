//! The two closed lists that journal, commands and tables share: what became
//! of a link, and how a visit ended.

use std::fmt;

/// Codes from here on carry a module's id and its own code.
const MODULE: u64 = 1 << 32;

macro_rules! closed_list {
    ($(#[$doc:meta])* $name:ident { $($(#[$case_doc:meta])* $case:ident = $code:literal, $label:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$case_doc])* $case,)*
            /// Decided by a module; the code is the module's own.
            Module { id: u16, code: u16 },
        }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$case),*];

            /// The number in the journal; it never changes its meaning.
            pub fn code(self) -> u64 {
                match self {
                    $($name::$case => $code,)*
                    $name::Module { id, code } => MODULE | u64::from(id) << 16 | u64::from(code),
                }
            }

            /// A code this version does not know reads as one of module 0.
            pub fn from_code(code: u64) -> $name {
                match code {
                    $($code => $name::$case,)*
                    other => $name::Module { id: (other >> 16) as u16, code: other as u16 },
                }
            }

            /// The short name that people and programs read.
            pub fn label(self) -> &'static str {
                match self {
                    $($name::$case => $label,)*
                    $name::Module { .. } => "module",
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $name::Module { id, code } => write!(f, "module-{id}-{code}"),
                    other => f.write_str(other.label()),
                }
            }
        }
    };
}

closed_list! {
    /// What became of a link.
    Fate {
        /// Handed to the shard that owns its site; that shard decides.
        Offered = 1, "offered";
        /// New, and waiting for its visit.
        Queued = 2, "queued";
        Scheme = 10, "scheme-not-crawled";
        Malformed = 11, "malformed";
        Credentials = 12, "carries-credentials";
        TooLong = 13, "too-long";
        /// A kind of link that the configuration does not follow.
        Kind = 14, "kind-not-followed";
        Nofollow = 15, "nofollow";
        OutOfScope = 16, "out-of-scope";
        TooDeep = 17, "too-deep";
        Extension = 18, "extension-skipped";
        /// One redirect after another, too many of them.
        TooManyRedirects = 19, "too-many-redirects";
        /// It leads to what was forgotten on request.
        Forgotten = 20, "forgotten";
    }
}

closed_list! {
    /// How a visit ended.
    Outcome {
        /// A document came.
        Fetched = 1, "fetched";
        /// The answer points elsewhere; the target is a link of the visit.
        Redirect = 2, "redirect";
        HttpError = 20, "http-error";
        NoSuchName = 21, "no-such-name";
        Dns = 22, "dns-failed";
        Connect = 23, "connect-failed";
        ConnectTimeout = 24, "connect-timeout";
        Tls = 25, "tls-failed";
        FirstByteTimeout = 26, "first-byte-timeout";
        Broken = 27, "broken-response";
        HeadersTooLarge = 28, "headers-too-large";
        Closed = 29, "closed-by-server";
        Robots = 40, "robots-disallowed";
        RobotsUnreachable = 41, "robots-unreachable";
        UnwantedType = 42, "unwanted-type";
        UnwantedSize = 43, "unwanted-size";
        HostGivenUp = 44, "host-given-up";
        /// The address is not one that the crawl may connect to.
        AddressRefused = 45, "address-refused";
    }
}

/// The state of a URL as a user asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    Queued,
    InFlight,
    Fetched,
    Failed,
    Refused,
}

impl State {
    pub fn label(self) -> &'static str {
        match self {
            State::Queued => "queued",
            State::InFlight => "in-flight",
            State::Fetched => "fetched",
            State::Failed => "failed",
            State::Refused => "refused",
        }
    }
}

impl Outcome {
    pub fn state(self) -> State {
        match self.code() {
            0..20 => State::Fetched,
            20..40 => State::Failed,
            _ => State::Refused,
        }
    }

    /// Whether asking once more may bring a page: the visit failed, or was not
    /// made because its host had.
    pub fn is_worth_another_try(self) -> bool {
        let of_host = matches!(self, Outcome::RobotsUnreachable | Outcome::HostGivenUp);
        of_host || self.state() == State::Failed
    }
}

impl Fate {
    /// The link went no further than the page it was found on.
    pub fn is_refusal(self) -> bool {
        !matches!(self, Fate::Offered | Fate::Queued)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_come_back_as_what_they_were() {
        for &fate in Fate::ALL {
            assert_eq!(Fate::from_code(fate.code()), fate);
        }
        for &outcome in Outcome::ALL {
            assert_eq!(Outcome::from_code(outcome.code()), outcome);
        }
        let module = Fate::Module { id: 7, code: 300 };
        assert_eq!(Fate::from_code(module.code()), module);
        assert!(Fate::from_code(999).is_refusal());
    }
}
