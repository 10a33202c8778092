//! Finds stranded jobs, which no process serves.

use dripfeed_bucket::{Bucket, BucketPlace, stranded_jobs};
use dripfeed_job::BucketName;
use dripfeed_store::Store;
use serde_json::{Value as Json, json};

use crate::exit::Failure;
use crate::role::served;

/// Returns a finding for each bucket with jobs that neither a process nor this configuration has in its settings.
pub(super) async fn stranded(
    store: &Store,
    buckets: &[Bucket],
    sealed: Vec<BucketPlace>,
    wanted: Option<&BucketName>,
) -> Result<Vec<Json>, Failure> {
    let mut configured = sealed;
    configured.extend(buckets.iter().map(|bucket| BucketPlace::from(&*bucket.settings())));
    let mut stranded = stranded_jobs(store, &[]).await?;
    stranded.retain_mut(|found| {
        found.has_namesake |= configured.iter().any(|place| place.bucket == found.place.bucket);
        !configured.contains(&found.place) && wanted.is_none_or(|wanted| *wanted == found.place.bucket)
    });
    let shown = stranded.iter().map(|found| {
        let jobs = if found.jobs == found.outcome_jobs { "outcome jobs" } else { "accepted jobs" };
        json!({
            "bucket": found.place.bucket,
            "count": found.jobs,
            "what": format!("{jobs} of a {} that no process serves", found.place.kind.as_str()),
            "example": found.key,
            "remedy": null,
            "advice": served::remedy(found),
        })
    });
    Ok(shown.collect())
}
