//! When Redis is asked about again: what is wrong with it comes and goes while somebody looks.

use jiff::{SignedDuration, Timestamp};

use crate::model::bucket::Frame;

/// An answer about Redis is much larger than what changes of buckets in a second.
const EVERY: SignedDuration = SignedDuration::from_secs(10);

/// By the times of frames.
#[derive(Default)]
pub struct RedisTurn(Option<Timestamp>);

impl RedisTurn {
    /// Whether to ask with this frame: with the first one, and with those that come later by an interval.
    pub fn has_come(&mut self, frame: &Frame) -> bool {
        let Ok(at) = frame.at.parse::<Timestamp>() else { return false };
        // A clock that was set back begins again.
        let is_fresh = self.0.is_some_and(|last| (SignedDuration::ZERO..EVERY).contains(&at.duration_since(last)));
        if !is_fresh {
            self.0 = Some(at);
        }
        !is_fresh
    }
}
