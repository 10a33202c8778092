//! A latency histogram with exponential ranges: each is longer than the one before by the same factor, so the relative
//! error of a percentile is bounded.

use std::fmt;
use std::time::Duration;

/// Maximum relative error of a percentile. Rounding adds up to half a millisecond.
const ERROR: f64 = 0.05;
const GROWTH: f64 = (1.0 + ERROR) / (1.0 - ERROR);
/// The last range is at about five days. Longer times are counted in it.
pub(crate) const RANGES: usize = 200;
const PERCENTS: [u64; 3] = [50, 95, 99];

/// Written as text: the number of the first range with a count, then the counts from there to the last range with one.
/// Empty without measurements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LatencySketch {
    /// Counts by range, up to the last range with a count.
    counts: Vec<u64>,
}

/// Percentiles by nearest rank, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantiles {
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
}

impl LatencySketch {
    pub(crate) fn record(&mut self, took: Duration) {
        self.add(range_of(took), 1);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (range, count) in other.counts.iter().enumerate() {
            self.add(range, *count);
        }
    }

    /// Parses the text that `Display` writes.
    pub(crate) fn read(text: &str) -> Self {
        let mut numbers = text.split(' ').filter_map(|number| number.parse::<u64>().ok());
        let first = numbers.next().and_then(|first| usize::try_from(first).ok()).unwrap_or(RANGES);
        let mut sketch = Self::default();
        for (range, count) in (first..RANGES).zip(numbers) {
            sketch.add(range, count);
        }
        sketch
    }

    /// Returns `None` without measurements.
    pub(crate) fn quantiles(&self) -> Option<Quantiles> {
        let all: u64 = self.counts.iter().sum();
        let ranges = PERCENTS.map(|percent| self.range_at(all.saturating_mul(percent).div_ceil(100)));
        let [Some(p50), Some(p95), Some(p99)] = ranges else { return None };
        Some(Quantiles::of_ranges([p50, p95, p99]))
    }

    /// Returns the range of the measurement with this rank. The shortest measurement has rank 1.
    fn range_at(&self, rank: u64) -> Option<usize> {
        let mut seen = 0;
        self.counts.iter().position(|count| {
            seen += count;
            seen >= rank.max(1)
        })
    }

    fn add(&mut self, range: usize, count: u64) {
        if count == 0 {
            return;
        }
        if self.counts.len() <= range {
            self.counts.resize(range + 1, 0);
        }
        if let Some(all) = self.counts.get_mut(range) {
            *all = all.saturating_add(count);
        }
    }
}

impl fmt::Display for LatencySketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.counts.iter().position(|count| *count > 0) else { return Ok(()) };
        write!(f, "{first}")?;
        self.counts.iter().skip(first).try_for_each(|count| write!(f, " {count}"))
    }
}

impl Quantiles {
    pub(crate) fn of_ranges(ranges: [usize; 3]) -> Self {
        let [p50, p95, p99] = ranges.map(ms_of);
        Self { p50, p95, p99 }
    }
}

/// Returns the range of a time. The first range ends at 1 ms, each further one at `GROWTH` times the end before.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and bounded")]
fn range_of(took: Duration) -> usize {
    let ms = took.as_secs_f64() * 1000.0;
    let range = (ms.max(1.0).ln() / GROWTH.ln()).ceil() as usize;
    range.min(RANGES - 1)
}

/// Returns the time, in ms, whose relative error is the same at both ends of the range.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^30")]
fn ms_of(range: usize) -> u64 {
    let range = i32::try_from(range.min(RANGES - 1)).unwrap_or(0);
    if range == 0 { 1 } else { (2.0 * GROWTH.powi(range) / (GROWTH + 1.0)).round() as u64 }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use proptest::prelude::*;

    use super::*;

    fn sketch(micros: &[u64]) -> LatencySketch {
        let mut sketch = LatencySketch::default();
        micros.iter().for_each(|micros| sketch.record(Duration::from_micros(*micros)));
        sketch
    }

    #[test]
    fn a_sketch_reads_back_as_it_was_written() {
        assert_eq!(sketch(&[]).to_string(), "");
        assert_eq!(sketch(&[0, 1000, 1100]).to_string(), "0 2 1");
        for micros in [&[][..], &[0], &[5_000_000], &[3, 90_000, 90_000, u64::MAX]] {
            let sketch = sketch(micros);
            assert_eq!(LatencySketch::read(&sketch.to_string()), sketch);
        }
        for foreign in ["", "x", "200 1", "18446744073709551615 1", "7"] {
            assert_eq!(LatencySketch::read(foreign), LatencySketch::default(), "{foreign}");
        }
    }

    #[test]
    fn what_took_longer_than_all_ranges_counts_as_the_longest() {
        assert_eq!(range_of(Duration::from_hours(24 * 5000)), RANGES - 1);
        assert!(range_of(Duration::from_hours(24 * 4)) < RANGES - 1);
        assert_eq!(sketch(&[u64::MAX]).to_string(), format!("{} 1", RANGES - 1));
    }

    proptest! {
        #[test]
        fn a_percentile_is_wrong_by_no_more_than_its_bound(
            mut micros in prop::collection::vec(0..400_000_000_000u64, 1..200),
        ) {
            let quantiles = sketch(&micros).quantiles().unwrap();
            micros.sort_unstable();
            for (percent, ms) in PERCENTS.into_iter().zip([quantiles.p50, quantiles.p95, quantiles.p99]) {
                let rank = (micros.len() * usize::try_from(percent).unwrap()).div_ceil(100);
                let exact = Duration::from_micros(micros[rank - 1]).as_secs_f64() * 1000.0;
                let read = f64::from(u32::try_from(ms).unwrap());
                let bound = (exact * ERROR).max(0.5) + 0.5 + 1e-6;
                prop_assert!((read - exact).abs() <= bound, "p{percent}: {read} for {exact}");
            }
        }

        #[test]
        fn sketches_that_are_merged_say_what_one_of_all_says(
            one in prop::collection::vec(0..400_000_000_000u64, 0..50),
            other in prop::collection::vec(0..400_000_000_000u64, 0..50),
        ) {
            let mut merged = sketch(&one);
            merged.merge(&sketch(&other));
            prop_assert_eq!(merged, sketch(&[one, other].concat()));
        }
    }
}
