//! Operations of which Redis may have done more than it has confirmed, because a reply was lost. The caller may not
//! repeat them, or finds them done, so they are recorded, too.

use dripfeed_auth::Caller;
use dripfeed_bucket::Bucket;

use super::record;
use crate::problem::Problem;

/// Records an operation if it was done, or may have been done.
pub(crate) async fn record_result<T>(
    bucket: &Bucket,
    caller: &Caller,
    action: &str,
    detail: &str,
    result: Result<T, impl Into<Problem>>,
) -> Result<T, Problem> {
    let result = result.map_err(Into::into);
    if result.is_ok() {
        record(bucket, caller, action, detail).await;
    }
    record_unconfirmed(bucket, caller, action, detail, result).await
}

/// Records an operation if it may have been done, but that isn't known.
pub(crate) async fn record_unconfirmed<T>(
    bucket: &Bucket,
    caller: &Caller,
    action: &str,
    detail: &str,
    result: Result<T, impl Into<Problem>>,
) -> Result<T, Problem> {
    let result = result.map_err(Into::into);
    if result.as_ref().is_err_and(Problem::may_be_done) {
        // First, as a long detail is cut.
        let colon = if detail.is_empty() { "" } else { ": " };
        record(bucket, caller, action, &format!("not confirmed by Redis{colon}{detail}")).await;
    }
    result
}
