//! When a page was last changed, in the two ways such files write it.

use std::ops::RangeInclusive;

const DAY: i64 = 24 * 60 * 60;
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Seconds since 1970 began. Sitemaps and Atom write dates as the W3C's profile
/// of ISO 8601 has them, RSS as mail does; each is also found in the other. No
/// page is older: year 1 is what some tools write for "unknown".
pub(super) fn read(text: &str) -> Option<u64> {
    let text = text.trim().as_bytes();
    let seconds = w3c(text).or_else(|| mail(text))?;
    u64::try_from(seconds).ok()
}

/// `2024`, `2024-05`, `2024-05-17`, and with a time `2024-05-17T08:30+02:00` or
/// `2024-05-17T08:30:15.25Z`. A space may stand for the `T`, and a time without
/// a zone is taken to be UTC.
fn w3c(text: &[u8]) -> Option<i64> {
    let mut rest = Rest(text);
    let year = rest.number(4..=4)?;
    let (mut month, mut day, mut time, mut offset) = (1, 1, 0, 0);
    if rest.skip(b"-") {
        month = rest.number(2..=2)?;
        if rest.skip(b"-") {
            day = rest.number(2..=2)?;
            if rest.skip(b"Tt ") {
                time = rest.time()?;
                rest.spaces();
                offset = match rest.0 {
                    [] => 0,
                    _ => rest.offset()?,
                };
            }
        }
    }
    rest.0.is_empty().then_some(())?;
    Some(midnight(year, month, day)? + time - offset)
}

/// `Fri, 17 May 2024 08:30:15 +0200`, without the day of the week, the seconds
/// or the century if need be. The zone must be there.
fn mail(text: &[u8]) -> Option<i64> {
    let behind_weekday = text.iter().position(|b| *b == b',').map_or(0, |at| at + 1);
    let mut rest = Rest(&text[behind_weekday..]);
    rest.spaces();
    let day = rest.number(1..=2)?;
    rest.spaces();
    let name = rest.word();
    let name = name.get(..3)?;
    let month = MONTHS
        .iter()
        .position(|month| name.eq_ignore_ascii_case(month.as_bytes()))?;
    rest.spaces();
    let digits = rest.0.iter().take_while(|b| b.is_ascii_digit()).count();
    let year = match (rest.number(2..=4)?, digits) {
        (year, 2) if year < 50 => 2000 + year,
        (year, 2 | 3) => 1900 + year,
        (year, _) => year,
    };
    rest.spaces();
    let time = rest.time()?;
    rest.spaces();
    let offset = rest.offset()?;
    Some(midnight(year, month as i64 + 1, day)? + time - offset)
}

/// What is left to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn skip(&mut self, any: &[u8]) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if any.contains(first) => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    fn spaces(&mut self) {
        self.0 = self.0.trim_ascii_start();
    }

    fn number(&mut self, digits: RangeInclusive<usize>) -> Option<i64> {
        let length = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
        let length = length.min(*digits.end());
        if length < *digits.start() {
            return None;
        }
        let (number, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(number.iter().fold(0, |n, b| n * 10 + i64::from(b - b'0')))
    }

    fn word(&mut self) -> &'a [u8] {
        let length = self
            .0
            .iter()
            .take_while(|b| b.is_ascii_alphabetic())
            .count();
        let (word, rest) = self.0.split_at(length);
        self.0 = rest;
        word
    }

    /// Hours, minutes and perhaps seconds with a fraction, which does not count.
    fn time(&mut self) -> Option<i64> {
        let hours = within(self.number(1..=2)?, 0..=24)?;
        self.skip(b":").then_some(())?;
        let minutes = within(self.number(2..=2)?, 0..=59)?;
        let mut seconds = 0;
        if self.skip(b":") {
            // Sixty is a leap second.
            seconds = within(self.number(2..=2)?, 0..=60)?;
            if self.skip(b".,") {
                let fraction = self.0.iter().take_while(|b| b.is_ascii_digit()).count();
                self.0 = &self.0[fraction..];
            }
        }
        Some(hours * 3600 + minutes * 60 + seconds)
    }

    /// How far a zone is ahead of UTC.
    fn offset(&mut self) -> Option<i64> {
        let sign = match self.0.first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return zone(self.word()),
        };
        self.skip(b"+-");
        let hours = within(self.number(2..=2)?, 0..=23)?;
        self.skip(b":");
        let minutes = within(self.number(2..=2).unwrap_or(0), 0..=59)?;
        Some(sign * (hours * 3600 + minutes * 60))
    }
}

fn zone(name: &[u8]) -> Option<i64> {
    const ZONES: [(&str, i64); 12] = [
        ("Z", 0),
        ("GMT", 0),
        ("UTC", 0),
        ("UT", 0),
        ("EST", -5),
        ("EDT", -4),
        ("CST", -6),
        ("CDT", -5),
        ("MST", -7),
        ("MDT", -6),
        ("PST", -8),
        ("PDT", -7),
    ];
    ZONES
        .iter()
        .find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()))
        .map(|(_, hours)| hours * 3600)
}

fn within(number: i64, range: RangeInclusive<i64>) -> Option<i64> {
    range.contains(&number).then_some(number)
}

/// The first second of a day of the Gregorian calendar.
fn midnight(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match within(month, 1..=12)? {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    within(day, 1..=length)?;
    // Years are counted from March, so that the leap day is the last of one.
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let since_march_of_year_0 = 365 * year + leap_days + day_of_year;
    Some((since_march_of_year_0 - 719_468) * DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_follows_the_one_before() {
        let mut expected = midnight(1, 1, 1).unwrap();
        assert_eq!(expected, -62_135_596_800);
        for year in 1..=2500 {
            for month in 1..=12 {
                for day in 1..=31 {
                    if let Some(given) = midnight(year, month, day) {
                        assert_eq!(given, expected, "{year}-{month}-{day}");
                        expected += DAY;
                    }
                }
            }
        }
        assert_eq!(midnight(1970, 1, 1), Some(0));
        assert_eq!(midnight(2100, 2, 29), None);
        assert_eq!(midnight(2000, 2, 29), Some(951_782_400));
    }

    #[test]
    fn dates_of_sitemaps() {
        for (text, expected) in [
            ("1970", Some(0)),
            ("1970-02", Some(31 * DAY)),
            (" 1970-01-02\n", Some(DAY)),
            ("1970-01-02T00:00Z", Some(DAY)),
            ("1970-01-02t01:00:01.999+01:00", Some(DAY + 1)),
            ("1970-01-02 00:00:00 +0000", Some(DAY)),
            ("1970-01-02T00:00:00", Some(DAY)),
            ("1970-01-01T24:00:00Z", Some(DAY)),
            ("1970-01-01T20:00:00-04", Some(DAY)),
            ("1969-12-31T23:59:59Z", None),
            ("0001-01-01T00:00:00Z", None),
            ("1970-1-1", None),
            ("1970-13-01", None),
            ("1970-02-30", None),
            ("1970-01-01T25:00Z", None),
            ("1970-01-01T10", None),
            ("1970-01-01Z", None),
            ("1970-01-01T10:00 soon", None),
            ("70-01-01", None),
            ("", None),
            ("yesterday", None),
        ] {
            assert_eq!(read(text).map(u64::cast_signed), expected, "{text}");
        }
    }

    #[test]
    fn dates_of_feeds() {
        for (text, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu,1 January 1970 1:00 +0100", Some(0)),
            ("01 jan 70 00:00:00 UT", Some(0)),
            ("2 Jan 1970 00:00 -0000", Some(DAY)),
            ("Wed, 31 Dec 1969 19:00:00 EST", Some(0)),
            ("Sat, 01 Jan 00 00:00:00 Z", Some(946_684_800)),
            ("1 Jan 1970 00:00:00", None),
            ("1 Jan 1970 00:00:00 XYZ", None),
            ("1 J 1970 00:00:00 GMT", None),
            ("32 Jan 1970 00:00:00 GMT", None),
            ("Thu,", None),
        ] {
            assert_eq!(read(text).map(u64::cast_signed), expected, "{text}");
        }
    }
}
