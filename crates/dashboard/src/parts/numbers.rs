//! Formats numbers.

const KIB: u64 = 1024;
/// Enough for a rate of once in three years.
const MOST_DECIMALS: i32 = 9;

/// Formats a number: `12,345`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Returns the number with its noun: `1 job`, `2 jobs`.
#[must_use]
pub fn pluralize(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// `1 attempt`, `2 attempts`
pub(crate) fn attempts(number: u32) -> String {
    pluralize(number.into(), "attempt", "attempts")
}

/// Formats a size: `1.5 MiB`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
#[must_use]
pub fn bytes(number: u64) -> String {
    let units = [(1, "B"), (KIB, "KiB"), (KIB.pow(2), "MiB"), (KIB.pow(3), "GiB")];
    // A number that would be rounded to 1024 is 1 of the next unit.
    let fits = |(unit, _): &(u64, &str)| number as f64 / (*unit as f64) < 1023.5;
    let (unit, name) = units.into_iter().find(fits).unwrap_or((KIB.pow(3), "GiB"));
    format!("{} {name}", tenths(number as f64 / unit as f64))
}

/// Returns a configured rate: `4.2/s`, or `0.033/s` if it is slow.
#[must_use]
pub fn per_second(rate: f64) -> String {
    format!("{}/s", if 0.0 < rate && rate < 0.1 { two_digits(rate) } else { tenths(rate) })
}

/// Returns a measured rate: `5.0/s`, as wide as `4.9/s` a second before.
#[must_use]
pub fn measured(rate: f64) -> String {
    format!("{}/s", self::rate(rate))
}

/// Returns a measured rate without its unit, for a column with the unit in its heading.
#[must_use]
pub fn rate(per_second: f64) -> String {
    match per_second {
        0.05..9.95 => format!("{per_second:.1}"),
        _ => whole(per_second),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far below 2^53, and not negative")]
fn whole(number: f64) -> String {
    count(number.round() as u64)
}

/// One decimal below ten, none above, as measured values aren't more exact.
fn tenths(number: f64) -> String {
    if number >= 9.95 {
        return whole(number);
    }
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// Two significant digits of a number below 0.1.
fn two_digits(number: f64) -> String {
    let decimals = (1..MOST_DECIMALS).find(|decimals| number * 10_f64.powi(*decimals) >= 9.5).unwrap_or(MOST_DECIMALS);
    let text = format!("{number:.*}", decimals.unsigned_abs() as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `41 s`, `3 min`, `2 h 5 min`, `4 d 15 h`. Seconds are rounded up, longer units to the nearest, as in the page's
/// script (times.js).
#[must_use]
pub fn time(ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    let (minutes, hours, days) = (nearest(seconds, 60), nearest(seconds, 3600), nearest(seconds, 86_400));
    match seconds {
        0..100 => format!("{seconds} s"),
        100..6000 => format!("{minutes} min"),
        6000..172_800 => two(minutes, 60, "h", "min"),
        172_800..864_000 => two(hours, 24, "d", "h"),
        _ => format!("{} d", count(days)),
    }
}

fn nearest(number: u64, unit: u64) -> u64 {
    number.saturating_add(unit / 2) / unit
}

/// `2 h 5 min` of 125 minutes.
fn two(number: u64, of: u64, large: &str, small: &str) -> String {
    match (number / of, number % of) {
        (whole, 0) => format!("{whole} {large}"),
        (whole, rest) => format!("{whole} {large} {rest} {small}"),
    }
}

/// `12 ms`, `1.5 s`, `41 s`; at least `1 ms`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub(crate) fn latency(ms: u64) -> String {
    match ms {
        0..=999 => format!("{} ms", ms.max(1)),
        1000..10_000 => format!("{} s", tenths(ms as f64 / 1000.0)),
        _ => time(nearest(ms, 1000) * 1000),
    }
}

/// 40 for 40 %; 0 if `whole` is 0.
pub(crate) fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100).checked_div(whole).unwrap_or(0)
}

/// `40 %`; `<1 %` for a small part that isn't 0.
#[must_use]
pub fn share(part: u64, whole: u64) -> String {
    match percent(part, whole) {
        0 if part > 0 => "<1 %".to_owned(),
        percent => format!("{} %", count(percent)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact_enough() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        let sizes = [0, 1023, 1536, (1 << 20) - 1, 64 << 20, (1 << 30) - 1, 5 << 30, 5000 << 30].map(bytes);
        assert_eq!(sizes, ["0 B", "1,023 B", "1.5 KiB", "1 MiB", "64 MiB", "1 GiB", "5 GiB", "5,000 GiB"]);
        assert_eq!([0.0, 0.25, 5.0, 9.96, 1999.6].map(per_second), ["0/s", "0.2/s", "5/s", "10/s", "2,000/s"]);
        let slow = [0.1, 2.0 / 60.0, 0.05, 0.0996, 1.0 / 86_400.0, 1e-12].map(per_second);
        assert_eq!(slow, ["0.1/s", "0.033/s", "0.05/s", "0.1/s", "0.000012/s", "0/s"]);
        assert_eq!([0.0, 0.04, 0.25, 5.0, 1999.0].map(measured), ["0/s", "0/s", "0.2/s", "5.0/s", "1,999/s"]);
        let times = [0, 1, 59_600, 99_000, 99_001, 180_000, 3_600_000, 5_999_000].map(time);
        assert_eq!(times, ["0 s", "1 s", "60 s", "99 s", "2 min", "3 min", "60 min", "100 min"]);
        let long = [6_000_000, 7_200_000, 7_500_000, 172_799_000, 172_800_000, 400_000_000, 1_000_000_000].map(time);
        assert_eq!(long, ["1 h 40 min", "2 h", "2 h 5 min", "48 h", "2 d", "4 d 15 h", "12 d"]);
        assert_eq!([0, 999, 1500, 10_001, 41_499].map(latency), ["1 ms", "999 ms", "1.5 s", "10 s", "41 s"]);
        let shares = [(1, 3), (5, 0), (0, 5), (1, 5000), (30, 20)].map(|(part, whole)| share(part, whole));
        assert_eq!(shares, ["33 %", "<1 %", "0 %", "<1 %", "150 %"]);
    }
}
