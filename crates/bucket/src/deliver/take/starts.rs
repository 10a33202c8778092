//! When the calls of a take may begin, for a take that was granted tokens ahead of their time.

use std::time::Duration;

/// One for each token bucket of the pace that makes calls wait.
#[derive(Debug)]
pub(super) struct Starts(Vec<Start>);

/// Times after the grant, in ns: of the first call, which may begin at once if that is negative, and from each call to
/// the next.
#[derive(Debug)]
struct Start {
    first: i64,
    step: i64,
}

impl Starts {
    /// Parses the answer of limit_spend (limit/src/rules/pace.lua), numbers with spaces between them. Returns `None` if
    /// it is malformed.
    pub(super) fn read(text: &str) -> Option<Self> {
        let numbers: Vec<i64> = text.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        let (pairs, rest) = numbers.as_chunks();
        let starts = pairs.iter().map(|&[first, step]| Start { first, step }).collect();
        rest.is_empty().then_some(Self(starts))
    }

    /// How long after the grant a call begins. `others`: how many calls of the same take begin before it.
    pub(super) fn of_call(&self, others: usize) -> Duration {
        let others = i64::try_from(others).unwrap_or(i64::MAX);
        let begin = |start: &Start| start.first.saturating_add(start.step.saturating_mul(others));
        let latest = self.0.iter().map(begin).max().unwrap_or_default();
        Duration::from_nanos(u64::try_from(latest).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_waits_for_the_bucket_that_makes_it_wait_longest() {
        let begins = |text| Starts::read(text).map(|starts| [0, 1, 9].map(|others| starts.of_call(others).as_nanos()));
        assert_eq!(begins("1000 200"), Some([1000, 1200, 2800]));
        assert_eq!(begins("-300 200"), Some([0, 0, 1500]));
        assert_eq!(begins("1000 10 0 200"), Some([1000, 1010, 1800]));
        assert_eq!(["", "1000", "1 2 3", "1 x"].map(begins), [None; 4]);
    }
}
