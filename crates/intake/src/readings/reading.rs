//! The state of all buckets at one moment.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dripfeed_bucket::{Bucket, BucketError, Buckets};
use dripfeed_job::BucketName;
use dripfeed_job::duration::ms_up;
use futures::{StreamExt as _, future, stream};

use crate::buckets::state::{BucketState, READ_AT_ONCE};

/// The timeout of reading the state of one bucket.
const STATE_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) struct Reading {
    /// In ms since the Unix epoch.
    pub(crate) at_ms: u64,
    /// Sorted by name. `None` if the state can't be read.
    pub(crate) buckets: Vec<(BucketName, Option<BucketState>)>,
}

impl Reading {
    pub(crate) async fn of(buckets: &Buckets) -> Self {
        let all = buckets.among(|_| true);
        let read = stream::iter(all).map(state).buffered(READ_AT_ONCE);
        let buckets = read.filter_map(future::ready).collect().await;
        let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, ms_up);
        Self { at_ms, buckets }
    }
}

/// Returns `None` for a bucket that was just deleted or created again over the API, which this process doesn't know
/// yet.
async fn state(bucket: Bucket) -> Option<(BucketName, Option<BucketState>)> {
    match tokio::time::timeout(STATE_TIMEOUT, BucketState::read(&bucket)).await {
        Ok(Err(BucketError::Gone)) => None,
        state => Some((bucket.name().clone(), state.ok().and_then(Result::ok))),
    }
}
