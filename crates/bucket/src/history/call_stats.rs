//! Calls that one replica made to a bucket's upstream since its last report.

use std::time::Duration;

use crate::history::latency_sketch::LatencySketch;

/// The class of an upstream's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerClass {
    Success,
    Redirect,
    ClientError,
    TooManyRequests,
    ServerError,
    /// No complete answer, or a status of none of these classes.
    None,
}

impl AnswerClass {
    /// The classes in the order of a slot's counts.
    pub const ALL: [Self; 6] =
        [Self::Success, Self::Redirect, Self::ClientError, Self::TooManyRequests, Self::ServerError, Self::None];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "2xx",
            Self::Redirect => "3xx",
            Self::ClientError => "4xx",
            Self::TooManyRequests => "429",
            Self::ServerError => "5xx",
            Self::None => "none",
        }
    }

    const fn of(status: Option<u16>) -> Self {
        match status {
            Some(200..=299) => Self::Success,
            Some(300..=399) => Self::Redirect,
            Some(429) => Self::TooManyRequests,
            Some(400..=499) => Self::ClientError,
            Some(500..=599) => Self::ServerError,
            _ => Self::None,
        }
    }
}

/// Counts and latencies of calls. Its size is bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallStats {
    retried: u64,
    answers: [u64; AnswerClass::ALL.len()],
    wait: LatencySketch,
    attempt: LatencySketch,
    total: LatencySketch,
}

impl CallStats {
    /// Counts a claim. `wait`: the time since the job was accepted.
    pub fn waited(&mut self, wait: Duration) {
        self.wait.record(wait);
    }

    /// Counts a call. `status`: `None` without an answer.
    pub fn answered(&mut self, status: Option<u16>, took: Duration) {
        self.answers[AnswerClass::of(status) as usize] += 1;
        self.attempt.record(took);
    }

    /// Counts a retry.
    pub fn retried(&mut self) {
        self.retried += 1;
    }

    /// Counts a delivery. `total`: the time since the job was accepted.
    pub fn delivered(&mut self, total: Duration) {
        self.total.record(total);
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The text that sample.lua reads. Empty if nothing was counted.
    pub(crate) fn packed(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let counts: Vec<String> = std::iter::once(self.retried).chain(self.answers).map(|n| n.to_string()).collect();
        format!("{}|{}|{}|{}", counts.join(" "), self.wait, self.attempt, self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stats_are_packed_as_counts_and_sketches() {
        let mut stats = CallStats::default();
        assert!(stats.is_empty() && stats.packed().is_empty());
        stats.waited(Duration::from_millis(1));
        for status in [Some(204), Some(302), Some(404), Some(429), Some(503), Some(503), Some(101), None] {
            stats.answered(status, Duration::ZERO);
        }
        stats.retried();
        assert_eq!(stats.packed(), "1 1 1 1 1 2 2|0 1|0 8|");
        assert!(!stats.is_empty());
    }
}
