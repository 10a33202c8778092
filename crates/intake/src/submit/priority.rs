//! The priorities that a key may use.

use dripfeed_auth::Caller;
use dripfeed_bucket::Bucket;
use dripfeed_job::{Priority, Submission};

use crate::problem::{Code, Problem};

/// A submission that asks for no more than its key may.
pub(crate) fn capped(caller: &Caller, bucket: &Bucket, submission: Submission) -> Result<Submission, Problem> {
    check(caller, &submission)?;
    Ok(lowered(caller.highest_priority(), bucket, submission))
}

/// # Errors
/// When it asks for more than its key may.
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
pub(crate) fn lowered(highest: Priority, bucket: &Bucket, mut submission: Submission) -> Submission {
    match submission.priority {
        Some(asked) => submission.priority = Some(asked.min(highest)),
        None if highest < Priority::Normal && bucket.takes_turns() => submission.priority = Some(highest),
        None => {}
    }
    submission
}
