//! A flow keeps its own pace: in any window w a caller, or group, gets at most rate · w + burst calls, and never has
//! more in flight than it may, over replicas, crashes, late replies, clock steps and changes at run time. The others
//! are called as if it weren't there.

mod changes;
mod clocks;
mod doctor;
mod eta;
mod histories;
mod in_flight;
mod index;
mod processes;
mod rate;
mod tiers;

use std::collections::BTreeMap;

use dripfeed_bucket::*;
use dripfeed_job::Submission;
use dripfeed_tests::buckets;
use dripfeed_tests::redis_server::TestRedis;
use serde_json::Value as Json;

/// Opens a bucket with these settings, in the form of `PATCH`.
async fn open(redis: &TestRedis, fair: &[(&str, Json)]) -> Bucket {
    let bucket = buckets::open(redis, BucketSettings { capacity: 20_000, ..buckets::settings("b") }).await;
    for (name, value) in fair {
        bucket.apply_overrides(&buckets::changed(name, value.clone())).await.unwrap();
    }
    bucket
}

fn of(caller: &str) -> Submission {
    Submission { caller: Some(caller.to_owned()), ..buckets::job("x") }
}

async fn flood(bucket: &Bucket, caller: &str, jobs: usize) {
    let answers = bucket.admit_many(vec![of(caller); jobs]).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Admission::Admitted(_)))), "{answers:?}");
}

/// Takes all jobs that may be called now. A take may return fewer jobs or none, so it is repeated.
async fn take_all(replica: &Replica) -> Vec<ClaimedJob> {
    let (mut all, mut idle) = (Vec::new(), 0);
    while idle < 10 {
        match replica.take(100).await.expect("Redis answers") {
            Take::Jobs(jobs, _) => {
                all.extend(jobs);
                idle = 0;
            }
            Take::Idle(_) => idle += 1,
            Take::Fenced => panic!("nobody declared it dead"),
        }
    }
    all
}

fn caller_of(taken: &ClaimedJob) -> String {
    taken.job.as_ref().expect("a job").caller.clone().unwrap_or_default()
}

fn count(taken: &[ClaimedJob]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    taken.iter().for_each(|taken| *counts.entry(caller_of(taken)).or_default() += 1);
    counts
}

fn counts<const N: usize>(counts: [(&str, usize); N]) -> BTreeMap<String, usize> {
    counts.map(|(caller, calls)| (caller.to_owned(), calls)).into()
}

/// Removes a job of this caller from `taken`.
fn pop(taken: &mut Vec<ClaimedJob>, caller: &str) -> ClaimedJob {
    let at = taken.iter().position(|taken| caller_of(taken) == caller).expect("one of that caller");
    taken.swap_remove(at)
}
