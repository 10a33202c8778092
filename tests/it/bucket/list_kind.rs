//! A bucket of kind `list`: the states of its jobs, and what it refuses.

/// Admissions, refusals and counts.
mod admission;
/// Jobs that are taken, called and settled.
mod delivery;
/// Dead letters from before the kind was changed.
mod letters;
/// Operators' commands.
mod operation;
/// Jobs of replicas that died, left, or got no reply.
mod recovery;

use dripfeed_bucket::*;
use dripfeed_job::{JobId, JobState};
use dripfeed_store::Store;
use dripfeed_tests::buckets::{self, submit};

const JOBS: &str = "dripfeed:{b}:jobs";

fn settings() -> BucketSettings {
    BucketSettings { kind: Kind::List, ..buckets::settings("b") }
}

/// Submits a job for each body, in this order.
async fn submit_all(bucket: &Bucket, bodies: &[&str]) -> Vec<JobId> {
    let mut ids = Vec::new();
    for body in bodies {
        ids.push(submit(bucket, buckets::job(*body)).await.id);
    }
    ids
}

async fn state(bucket: &Bucket, id: JobId) -> Option<JobState> {
    bucket.find(id).await.expect("Redis answers").map(|job| job.state)
}

fn body(taken: &ClaimedJob) -> &[u8] {
    taken.job.as_ref().expect("a job").body.as_ref()
}

fn bodies(taken: &[ClaimedJob]) -> Vec<&[u8]> {
    taken.iter().map(body).collect()
}

/// The elements as `redis-cli LRANGE` shows them, newest first.
async fn elements(store: &Store, key: &str) -> Vec<String> {
    let mut range = redis::cmd("LRANGE");
    range.arg(key).arg(0).arg(-1);
    store.command(&range).await.expect("a list of texts")
}

async fn push(store: &Store, element: &[u8]) {
    let mut push = redis::cmd("LPUSH");
    push.arg(JOBS).arg(element);
    store.command::<()>(&push).await.expect("Redis answers");
}
