//! The contents of a bucket before and after a drain, and the report of the drain.

use dripfeed_bucket::{Bucket, BucketError, Census};
use dripfeed_job::{Ending, pluralize};
use serde_json::json;

use crate::exit::Failure;
use crate::role::drain::{self, Arguments, interrupted, print};

/// The jobs in the bucket, and the outcome jobs in its outbox, including those written with other settings.
pub(super) struct Contents {
    pub(super) census: Census,
    pub(super) outcome_jobs: u64,
}

impl Contents {
    pub(super) async fn of(bucket: &Bucket) -> Result<Self, BucketError> {
        Ok(Self { census: bucket.census().await?, outcome_jobs: bucket.outcome_jobs().await? })
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.census.level == 0 && self.outcome_jobs == 0
    }
}

pub(super) fn report(arguments: &Arguments, before: &Contents, after: &Contents, what: &str) -> Result<(), Failure> {
    let count = |contents: &Contents, ending| {
        contents.census.ended.iter().find(|(known, _)| *known == ending).map_or(0, |(_, jobs)| *jobs)
    };
    let ended = Ending::ALL.map(|ending| (ending, count(after, ending).saturating_sub(count(before, ending))));
    let (left, outcome_jobs_left) = (after.census.level, after.outcome_jobs);
    let mut document = json!({
        "bucket": arguments.bucket, "left": left, "outcome_jobs_left": outcome_jobs_left,
        "interrupted": !after.is_empty(),
    });
    for (ending, jobs) in ended {
        document[ending.as_str()] = json!(jobs);
    }
    let ended = ended.map(|(ending, jobs)| format!("{jobs} {ending}")).join(", ");
    let remaining = drain::show_jobs(left, outcome_jobs_left);
    let sentence = match (before.census.level, before.outcome_jobs, after.is_empty()) {
        (0, 0, _) => format!("{what} has no jobs"),
        (0, outcome_jobs, true) => {
            let outcome_jobs = pluralize(outcome_jobs, "outcome job");
            format!("{what} has no jobs, but had {outcome_jobs}, now in the target buckets")
        }
        (0, _, false) => format!("{what} has no jobs, but {remaining}"),
        (_, _, true) => format!("{what} is empty: {ended}"),
        (_, _, false) => format!("{what} still has {remaining}: {ended}"),
    };
    print(arguments.output, &document, &sentence)?;
    if after.is_empty() { Ok(()) } else { Err(interrupted(format_args!("{what} still has {remaining}"))) }
}
