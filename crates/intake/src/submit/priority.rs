//! Which priority the jobs of a key may have.

use dripfeed_auth::Caller;
use dripfeed_bucket::Bucket;
use dripfeed_job::{Priority, Submission};

use crate::problem::{Code, Problem};

/// A submission that asks for no more than its key may. One that asks for nothing is normal, or as high as its key may
/// ask for, if that is lower; where all jobs wait in one line it stays without.
pub(crate) fn capped(caller: &Caller, bucket: &Bucket, mut submission: Submission) -> Result<Submission, Problem> {
    let highest = caller.highest_priority();
    match submission.priority {
        Some(asked) if asked > highest => {
            let detail = format!("this key may submit jobs with the priority `{highest}` at most, and not `{asked}`");
            return Err(Problem::new(Code::Forbidden, detail));
        }
        None if highest < Priority::Normal && bucket.takes_turns() => submission.priority = Some(highest),
        _ => {}
    }
    Ok(submission)
}
