//! What a take charged to the pace for a call, which is refunded if the call isn't made.
//!
//! **The limits stay ceilings.** A refund leaves at least as much charged as if the call had never been granted. It is
//! made at most once for each charge (`refund.rs`), and its call is never made.
//!
//! - **Windows** (`fixed`) count the calls that they were charged. So the window that contains the charge may count one
//!   less.
//! - **Token buckets.** Let V be as in permit.rs, W the same without the grant of n calls, and D = V − W, which is at
//!   least nτ after the grant at T. A later grant at t, whose calls don't drain for u, replaces V and W by the maximum
//!   of each and t + u, before it adds to both. That leaves D at least V − t − u; and V ≥ T + nτ unless other refunds
//!   have lowered it. So at time t, D ≥ nτ − (t − T) − u: that much is refunded, with the maximum of u. The others were
//!   less by such a time, too, so they change nothing. Of a fast bucket nothing is left to be refunded.
//!
//! In doubt nothing is refunded (`settle/refund.lua`):
//!
//! - The script is called once, and not again if its answer is lost.
//! - The replica is still a member, so the bucket wasn't deleted meanwhile. Settings (`version`) and tiers (`print`)
//!   are the same, so no count began again.
//! - The pace was last used on the same server, and its state was written at the take or later. So Redis hasn't lost
//!   the charge.
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
