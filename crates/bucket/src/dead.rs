//! Dead letters: buried jobs, whole, with the reason and the upstream's last answer.

use bytes::Bytes;
use dripfeed_job::{JobId, Outcome};

use crate::{Admitted, Refused};

#[derive(Clone, Debug)]
pub struct DeadLetter {
    pub id: JobId,
    pub died_ms: u64,
    /// Reason, last status, attempts, last answer.
    pub outcome: Outcome,
    pub caller: Option<String>,
    pub content_type: Option<String>,
    pub body: Bytes,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadFilter {
    /// Only reasons that contain this text.
    pub reason: Option<String>,
    /// Only with this last status.
    pub status: Option<u16>,
    pub caller: Option<String>,
    pub died_since_ms: Option<u64>,
    pub died_until_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replayed {
    As(Admitted),
    Refused(Refused),
    Unknown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayedMany {
    pub replayed: u64,
    /// Matched, but there was no room.
    pub left: u64,
}
