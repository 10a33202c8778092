//! The priorities that a key may use.

use dripfeed_auth::Caller;
use dripfeed_bucket::Bucket;
use dripfeed_job::{Priority, Submission};

use crate::problem::{Code, Problem};

/// Refuses a priority above that of the key, and sets the key's if it is below normal and the submission has none.
pub(crate) fn check_and_cap(caller: &Caller, bucket: &Bucket, submission: Submission) -> Result<Submission, Problem> {
    check(caller, &submission)?;
    Ok(cap(caller.highest_priority(), bucket, submission))
}

/// # Errors
/// When the submission has a higher priority than its key allows.
pub(crate) fn check(caller: &Caller, submission: &Submission) -> Result<(), Problem> {
    let highest = caller.highest_priority();
    match submission.priority {
        Some(asked) if asked > highest => {
            let detail = format!("priority `{asked}` exceeds the highest priority of this key, `{highest}`");
            Err(Problem::new(Code::Forbidden, detail))
        }
        _ => Ok(()),
    }
}

/// Caps the priority at `highest`. A submission without a priority gets `highest` if that is below normal, except in a
/// bucket without fair queuing.
pub(crate) fn cap(highest: Priority, bucket: &Bucket, mut submission: Submission) -> Submission {
    match submission.priority {
        Some(asked) => submission.priority = Some(asked.min(highest)),
        None if highest < Priority::Normal && bucket.has_fair_queuing() => submission.priority = Some(highest),
        None => {}
    }
    submission
}
