//! Decides when a live page reads the state of Redis again.

use jiff::{SignedDuration, Timestamp};

use crate::model::bucket::Frame;

/// Long, because the state of Redis is much larger than the changes of buckets in a second.
const EVERY: SignedDuration = SignedDuration::from_secs(10);

/// The time of the frame with the last read.
#[derive(Default)]
pub struct RedisReadTimer(Option<Timestamp>);

impl RedisReadTimer {
    /// Returns whether to read with this frame: with the first one, then once per interval.
    pub fn is_due(&mut self, frame: &Frame) -> bool {
        let Ok(at) = frame.at.parse::<Timestamp>() else { return false };
        // If the clock was set back, starts again.
        let is_fresh = self.0.is_some_and(|last| (SignedDuration::ZERO..EVERY).contains(&at.duration_since(last)));
        if !is_fresh {
            self.0 = Some(at);
        }
        !is_fresh
    }
}
