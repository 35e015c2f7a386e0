//! Where connections may lead, asked at the moment of connecting: what a link,
//! a redirect or a name server says does not matter.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rhumb_url::is_public_address;

use crate::Failure;

/// Which addresses may be connected to. Clones share what is opened.
#[derive(Debug, Clone)]
pub struct Guard {
    /// The public Internet.
    public: bool,
    /// Loopback, private and other special addresses.
    special: Arc<AtomicBool>,
    /// Addresses open in any case.
    given: Arc<[IpAddr]>,
}

impl Guard {
    /// No address is closed.
    pub fn open() -> Guard {
        Guard::new(true, true, &[])
    }

    pub fn new(public: bool, special: bool, given: &[IpAddr]) -> Guard {
        Guard {
            public,
            special: Arc::new(AtomicBool::new(special)),
            given: given.into(),
        }
    }

    /// Open or close what is not the public Internet.
    pub fn open_special(&self, open: bool) {
        self.special.store(open, Ordering::Release);
    }

    pub(crate) fn check(&self, address: IpAddr) -> Result<(), Failure> {
        if self.given.contains(&address) {
            return Ok(());
        }
        match is_public_address(address) {
            true if self.public => Ok(()),
            true => Err(Failure::NoContact),
            false if self.special.load(Ordering::Acquire) => Ok(()),
            false => Err(Failure::SpecialAddress(address)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_closed_is_refused_by_its_reason() {
        let [public, private, given] = ["9.9.9.9", "10.0.0.1", "10.0.0.2"]
            .map(|text| text.parse::<IpAddr>().expect("an address"));
        let guard = Guard::new(true, false, &[given]);
        assert_eq!(guard.check(public), Ok(()));
        assert_eq!(guard.check(given), Ok(()));
        assert_eq!(guard.check(private), Err(Failure::SpecialAddress(private)));
        let shared = guard.clone();
        shared.open_special(true);
        assert_eq!(guard.check(private), Ok(()));
        let without_contact = Guard::new(false, true, &[]);
        assert_eq!(without_contact.check(public), Err(Failure::NoContact));
        assert_eq!(Guard::open().check(private), Ok(()));
    }
}
