//! Formats numbers.

const KIB: u64 = 1024;
/// Once in three years is above zero.
const MOST_DECIMALS: i32 = 9;

/// `12,345`
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

/// `1 job`, `2 jobs`
#[must_use]
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// `1 attempt`, `2 attempts`
pub(crate) fn attempts(number: u32) -> String {
    counted(number.into(), "attempt", "attempts")
}

/// `1.5 MiB`
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
#[must_use]
pub fn bytes(number: u64) -> String {
    let units = [(KIB.pow(3), "GiB"), (KIB.pow(2), "MiB"), (KIB, "KiB")];
    match units.into_iter().find(|(unit, _)| number >= *unit) {
        Some((unit, name)) => format!("{} {name}", tenths(number as f64 / unit as f64)),
        None => format!("{number} B"),
    }
}

/// `4.2/s`; a slow one that was set isn't none: `0.033/s`
#[must_use]
pub fn per_second(rate: f64) -> String {
    format!("{}/s", if 0.0 < rate && rate < 0.1 { two_digits(rate) } else { tenths(rate) })
}

/// A rate that was measured: `5.0/s`, as wide as `4.9/s` a second before.
#[must_use]
pub fn measured(rate: f64) -> String {
    format!("{}/s", self::rate(rate))
}

/// The same in a column that says so.
#[must_use]
pub fn rate(per_second: f64) -> String {
    match per_second {
        0.05..9.95 => format!("{per_second:.1}"),
        _ => format!("{per_second:.0}"),
    }
}

/// One decimal below ten, none above: what is measured isn't more exact.
fn tenths(number: f64) -> String {
    if number >= 9.95 {
        return format!("{number:.0}");
    }
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// Of a number below 0.1.
fn two_digits(number: f64) -> String {
    let decimals = (1..MOST_DECIMALS).find(|decimals| number * 10_f64.powi(*decimals) >= 9.5).unwrap_or(MOST_DECIMALS);
    let text = format!("{number:.*}", decimals.unsigned_abs() as usize);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `41 s`, `3 min`, `2 h 5 min`, `4 d`
#[must_use]
pub fn time(ms: u64) -> String {
    let seconds = ms.div_ceil(1000);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0 => "0 s".to_owned(),
        1..100 => format!("{seconds} s"),
        100..6000 => format!("{minutes} min"),
        6000..172_800 if minutes % 60 == 0 => format!("{hours} h"),
        6000..172_800 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d"),
    }
}

/// `12 ms`, `1.5 s`, `41 s`; what takes no longer than 1 ms is shown as that.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub(crate) fn latency(ms: u64) -> String {
    match ms {
        0..=999 => format!("{} ms", ms.max(1)),
        1000..10_000 => format!("{} s", tenths(ms as f64 / 1000.0)),
        _ => time(ms),
    }
}

/// `40 %`, of a whole that isn't 0.
#[must_use]
pub fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100).checked_div(whole).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact_enough() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 1023, 1536, 64 << 20, 5 << 30].map(bytes), ["0 B", "1023 B", "1.5 KiB", "64 MiB", "5 GiB"]);
        assert_eq!([0.0, 0.25, 5.0, 9.96, 123.4].map(per_second), ["0/s", "0.2/s", "5/s", "10/s", "123/s"]);
        let slow = [0.1, 2.0 / 60.0, 0.05, 0.0996, 1.0 / 86_400.0, 1e-12].map(per_second);
        assert_eq!(slow, ["0.1/s", "0.033/s", "0.05/s", "0.1/s", "0.000012/s", "0/s"]);
        assert_eq!([0.0, 0.04, 0.25, 5.0, 9.96].map(measured), ["0/s", "0/s", "0.2/s", "5.0/s", "10/s"]);
        let times = [0, 1, 41_000, 180_000, 7_500_000, 7_200_000, 400_000_000].map(time);
        assert_eq!(times, ["0 s", "1 s", "41 s", "3 min", "2 h 5 min", "2 h", "4 d"]);
        assert_eq!([0, 999, 1500, 41_000].map(latency), ["1 ms", "999 ms", "1.5 s", "41 s"]);
        assert_eq!((percent(1, 3), percent(5, 0)), (33, 0));
    }
}
