//! Reports the result of a move: how the jobs ended, and how many are left.

use dripfeed_bucket::{BucketPlace, MoveProgress, level_at};
use dripfeed_job::{BucketName, pluralize};
use dripfeed_store::Store;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::exit::{Exit, Failure};
use crate::role::drain::outbox::Delivered;
use crate::role::drain::{self, Arguments, interrupted, print};

/// How many of the jobs that can't be moved are listed.
const MAX_LISTED: usize = 20;

pub(super) async fn report(
    arguments: &Arguments,
    store: &Store,
    places: &[BucketPlace],
    into: &BucketPlace,
    moved: &MoveProgress,
    outcomes: Delivered,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let mut left = 0;
    for place in places {
        left += level_at(store, place).await?;
    }
    let MoveProgress { moved: jobs, expired, doubled, left: unmovable } = moved;
    let (bucket, into) = (&arguments.bucket, &into.bucket);
    let is_interrupted = stop.is_cancelled() && (left > unmovable.len() as u64 || outcomes.left > 0);
    let document = json!({
        "bucket": bucket, "into": into, "moved": jobs, "expired": expired, "doubled": doubled, "left": left,
        "outcome_jobs_handed_over": outcomes.handed_over, "outcome_jobs_left": outcomes.left,
        "interrupted": is_interrupted,
        "unmovable": unmovable.iter().map(|(id, why)| json!({ "id": id.to_string(), "why": why })).collect::<Vec<_>>(),
    });
    print(arguments.output, &document, &sentence(bucket, into, places.is_empty(), left, moved, outcomes))?;
    if *doubled > 0 {
        tracing::warn!(%bucket, jobs = doubled, "a replica claimed jobs during the move; these jobs are called twice");
    }
    if is_interrupted {
        let left = drain::show_jobs(left, outcomes.left);
        return Err(interrupted(format_args!("`{bucket}` still has {left}")));
    }
    if unmovable.is_empty() {
        return Ok(());
    }
    let shown = unmovable.iter().take(MAX_LISTED).map(|(id, why)| format!("\n  {id}: {why}")).collect::<String>();
    let more = unmovable.len().saturating_sub(MAX_LISTED);
    let more = if more > 0 { format!("\n  and {more} more (-o json has all)") } else { String::new() };
    let jobs = pluralize(unmovable.len() as u64, "job");
    let message = format!("{jobs} of `{bucket}` could not be moved and stayed in the bucket:{shown}{more}");
    Err(Failure::new(Exit::Failure, message))
}

fn sentence(
    bucket: &BucketName,
    into: &BucketName,
    is_nothing_found: bool,
    left: u64,
    MoveProgress { moved, expired, .. }: &MoveProgress,
    outcomes: Delivered,
) -> String {
    let Delivered { handed_over, left: outcomes_left } = outcomes;
    let outcome_summary = format!("{} handed over, {outcomes_left} left", pluralize(handed_over, "outcome job"));
    let job_summary =
        format!("{} of `{bucket}` moved into `{into}`, {expired} expired, {left} left", pluralize(*moved, "job"));
    match (is_nothing_found, outcomes.is_some()) {
        (true, false) => format!("no stranded jobs of `{bucket}` found"),
        (_, true) if moved + expired + left == 0 => {
            let outcome_jobs = pluralize(handed_over + outcomes_left, "outcome job");
            format!("`{bucket}` has no jobs, but {outcome_jobs}: {outcome_summary}")
        }
        (_, false) => job_summary,
        (_, true) => format!("{job_summary}; {outcome_summary}"),
    }
}
