//! Reports the calls of this replica to the history of the bucket.

use std::convert::Infallible;
use std::time::Duration;

use dripfeed_bucket::{Bucket, CallStats};
use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};

use crate::logged_retry::LoggedRetry;

const BETWEEN_SAMPLES: Duration = Duration::from_secs(1);
/// While nothing is seen, one in this many seconds is enough for what others do to the bucket.
const QUIET_TICKS: u32 = 3;

/// What was seen since it was taken last.
#[derive(Default)]
pub(crate) struct SeenCalls(Mutex<CallStats>);

impl SeenCalls {
    pub(crate) fn note(&self, note: impl FnOnce(&mut CallStats)) {
        note(&mut self.0.lock());
    }

    pub(crate) fn take(&self) -> CallStats {
        std::mem::take(&mut self.0.lock())
    }
}

/// Apart from settlements, which never wait for it. What can't be added is dropped: it is for looking at only.
pub(crate) async fn keep(bucket: &Bucket, seen: &SeenCalls) -> Infallible {
    let mut ticks = interval(BETWEEN_SAMPLES);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut retry = LoggedRetry::new(bucket.name().clone(), "write the history");
    let mut quiet = QUIET_TICKS;
    loop {
        ticks.tick().await;
        let calls = seen.take();
        quiet += 1;
        if calls.is_empty() && quiet < QUIET_TICKS {
            continue;
        }
        quiet = 0;
        match bucket.sample_history(&calls).await {
            Ok(()) => retry.over(),
            Err(error) => drop(retry.failed(&error)),
        }
    }
}
