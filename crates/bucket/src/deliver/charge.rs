//! What a take charged to the pace for a call, which is refunded if the call isn't made.
//!
//! Only windows (`fixed`), such as a daily quota, are refunded: a token bucket soon has the next token, and its level
//! alone doesn't show whether the charge has drained since. A window counts the calls that it was charged. So its limit
//! stays a ceiling if each charge is refunded at most once, to the window that contains it, and its call is never made.
//! In doubt nothing is refunded (settle/refund.lua):
//!
//! - The script is called once, and not again if its answer is lost.
//! - The replica is still a member, so the bucket wasn't deleted meanwhile. Settings (`version`) and tiers (`print`) are
//!   the same, so the window's count didn't begin again.
//! - The pace was last used on the same server, and its state was written at the take or later. So Redis hasn't lost the
//!   charge.
//! - The Redis clock has advanced by as much as the monotonic clock of this replica. So the window that contains the
//!   time of the take is the one that was charged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

/// The time at the begin of a state of the pace, and the fingerprint of its tiers after it (limit/src/rules/scope.lua).
const TIME_BYTES: usize = 7;
const PRINT_BYTES: usize = 4;

/// The charge of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge(pub(super) Arc<ChargingTake>);

/// The take that was charged.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChargingTake {
    /// The run_id of the server.
    pub(super) server: Bytes,
    /// The version of the settings.
    pub(super) version: String,
    pub(super) print: Bytes,
    /// The Redis clock, in µs.
    pub(super) granted_us: u64,
    pub(super) valid: Duration,
    pub(super) asked: Instant,
}

/// What the charges of a take depend on, except for its reply.
pub(super) struct ChargeTerms {
    pub(super) version: String,
    pub(super) valid: Duration,
    pub(super) asked: Instant,
}

impl Charge {
    /// `server`, `state`: as the take replied. Returns `None` if the state has another time than that of the take,
    /// because the clock was set back before.
    pub(super) fn new(terms: ChargeTerms, server: Bytes, state: &Bytes, granted_us: u64) -> Option<Self> {
        let mut time = [0; size_of::<u64>()];
        time[..TIME_BYTES].copy_from_slice(state.get(..TIME_BYTES)?);
        let print = Bytes::copy_from_slice(state.get(TIME_BYTES..TIME_BYTES + PRINT_BYTES)?);
        let ChargeTerms { version, valid, asked } = terms;
        let take = ChargingTake { server, version, print, granted_us, valid, asked };
        (u64::from_le_bytes(time) == granted_us).then(|| Self(Arc::new(take)))
    }
}
