//! The maximum number of calls to an upstream: rate·w + burst in any window w.

use std::time::Instant;

#[derive(Clone, Copy, Debug)]
pub struct Ceiling {
    pub rate_per_s: f64,
    pub burst: f64,
}

impl Ceiling {
    /// By how many calls the fullest window exceeds the ceiling; negative if it is below it. Checks all windows that
    /// begin with one call and end with another.
    #[must_use]
    pub fn excess(self, mut arrivals: Vec<Instant>) -> f64 {
        arrivals.sort_unstable();
        // With a(n) the arrival of the n-th call, the calls from i to j are j - i + 1, and the ceiling rate·(a(j) -
        // a(i)) + burst: the excess is (j - rate·a(j)) - (i - rate·a(i)) + 1 - burst.
        let mut lowest = f64::INFINITY;
        let mut most = f64::NEG_INFINITY;
        let mut before = 0.0;
        for arrival in &arrivals {
            let ahead = before - self.rate_per_s * arrival.duration_since(arrivals[0]).as_secs_f64();
            lowest = lowest.min(ahead);
            most = most.max(ahead - lowest + 1.0 - self.burst);
            before += 1.0;
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_excess_is_that_of_the_fullest_window() {
        let ceiling = Ceiling { rate_per_s: 400.0, burst: 200.0 };
        let begun = Instant::now();
        let at = |us: u64| begun + Duration::from_micros(us);
        let steady = |from: u64, calls: u64| (0..calls).map(move |n| at(from + n * 2500));
        assert!(ceiling.excess(steady(0, 4000).collect()) < -190.0);
        let burst = (0..200).map(|_| at(1_000_000)).chain(steady(1_003_000, 400));
        assert!(ceiling.excess(burst.clone().collect()) <= 0.0);
        assert!(ceiling.excess(burst.chain([at(1_500_000); 3]).collect()) > 1.0);
    }
}
