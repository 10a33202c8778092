//! The state of all buckets at one moment.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dripfeed_bucket::{Bucket, Buckets};
use dripfeed_job::BucketName;
use dripfeed_job::duration::ms_up;
use futures::{StreamExt as _, stream};

use crate::buckets::state::{BucketState, READ_AT_ONCE};

/// Timeout of the state of one bucket.
const STATE_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) struct Reading {
    /// Milliseconds since the epoch.
    pub(crate) at_ms: u64,
    /// In the order of their names. None: its state can't be read now.
    pub(crate) buckets: Vec<(BucketName, Option<BucketState>)>,
}

impl Reading {
    pub(crate) async fn of(buckets: &Buckets) -> Self {
        let all = buckets.among(|_| true);
        let buckets = stream::iter(all).map(state).buffered(READ_AT_ONCE).collect().await;
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, ms_up);
        Self { at_ms, buckets }
    }
}

async fn state(bucket: Bucket) -> (BucketName, Option<BucketState>) {
    let state = tokio::time::timeout(STATE_TIMEOUT, BucketState::of(&bucket)).await;
    (bucket.name().clone(), state.ok().and_then(Result::ok))
}
