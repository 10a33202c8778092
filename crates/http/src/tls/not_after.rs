//! When a certificate expires: the one thing that is read of it here, so that nothing else is parsed.

use std::time::{Duration, SystemTime};

const SEQUENCE: u8 = 0x30;
/// The version, which the first one doesn't have.
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// `notAfter` (RFC 5280) of a certificate in DER. None: it can't be found.
pub(super) fn not_after(certificate: &[u8]) -> Option<SystemTime> {
    let mut signed = Der(Der(certificate).enter(SEQUENCE)?).enter(SEQUENCE).map(Der)?;
    if signed.0.first() == Some(&VERSION) {
        signed.next()?;
    }
    // Serial number, algorithm, issuer.
    for _ in 0..3 {
        signed.next()?;
    }
    let mut validity = Der(signed.enter(SEQUENCE)?);
    validity.next()?;
    let (tag, time) = validity.next()?;
    parse(tag, str::from_utf8(time).ok()?)
}

/// `YYMMDDHHMMSSZ` of the years 1950 to 2049, or `YYYYMMDDHHMMSSZ`.
fn parse(tag: u8, time: &str) -> Option<SystemTime> {
    let (year, rest) = time.split_at_checked(match tag {
        UTC_TIME => 2,
        GENERALIZED_TIME => 4,
        _ => return None,
    })?;
    let year = match (tag, year.parse::<i64>().ok()?) {
        (UTC_TIME, year) if year < 50 => 2000 + year,
        (UTC_TIME, year) => 1900 + year,
        (_, year) => year,
    };
    let rest = rest.strip_suffix('Z').filter(|rest| rest.len() == 10 && rest.bytes().all(|c| c.is_ascii_digit()))?;
    let part = |at: usize| rest.get(at..at + 2)?.parse::<i64>().ok();
    let (month, day) = (part(0)?, part(2)?);
    let seconds = part(4)? * 3600 + part(6)? * 60 + part(8)?;
    let seconds = u64::try_from(days_since_1970(year, month, day) * 86400 + seconds).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Years begin with March, so that the day of a leap year is their last.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 3 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

/// What is left of values in DER.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The content of the next value, which has this tag.
    fn enter(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }

    /// Tag and content of the next value.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match usize::from(first) {
            length @ 0..0x80 => (length, rest),
            long => {
                let (bytes, rest) = rest.split_at_checked(long - 0x80).filter(|(bytes, _)| bytes.len() <= 4)?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(tag: u8, time: &str) -> Option<u64> {
        parse(tag, time)?.duration_since(SystemTime::UNIX_EPOCH).ok().map(|since| since.as_secs())
    }

    #[test]
    fn both_forms_of_a_time_are_read() {
        assert_eq!(seconds(UTC_TIME, "700101000000Z"), Some(0));
        assert_eq!(seconds(UTC_TIME, "240229235959Z"), Some(1_709_251_199));
        assert_eq!(seconds(GENERALIZED_TIME, "20500101000000Z"), Some(2_524_608_000));
        for wrong in ["", "24", "2402292359Z", "240229235959", "24022923595xZ", "491231235959+0100"] {
            assert_eq!(seconds(UTC_TIME, wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_time() {
        for wrong in [&b""[..], b"\x30", b"\x30\x85\x01\x01\x01\x01\x01", b"\x30\x02\x30\x00", b"\x30\xff", &[0x30; 40]]
        {
            assert_eq!(not_after(wrong), None, "{wrong:?}");
        }
    }
}
