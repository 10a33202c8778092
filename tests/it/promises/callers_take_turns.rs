//! Callers take turns: while jobs of several wait, each gets calls by its weight, whatever the others have queued.

mod cancelled;
mod credit;
mod delayed;
mod groups;
mod histories;
mod index;
mod jobs;
mod order;

use std::collections::BTreeMap;

use dripfeed_bucket::*;
use dripfeed_job::Submission;
use dripfeed_tests::buckets::{self, DELIVERED, settle};
use dripfeed_tests::redis_server::TestRedis;

async fn open(redis: &TestRedis) -> Bucket {
    buckets::open(redis, BucketSettings { capacity: 20_000, ..buckets::settings("b") }).await
}

fn of(caller: &str, body: impl Into<String>) -> Submission {
    Submission { caller: Some(caller.to_owned()), ..buckets::job(body) }
}

/// Submits jobs of one caller at once, with numbers from 0 on as bodies.
async fn flood(bucket: &Bucket, caller: &str, jobs: usize) {
    let answers = bucket.admit_many((0..jobs).map(|n| of(caller, n.to_string())).collect()).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Admission::Admitted(_)))));
}

fn caller_of(taken: &ClaimedJob) -> String {
    taken.job.as_ref().expect("a job").caller.clone().unwrap_or_default()
}

fn body_of(taken: &ClaimedJob) -> String {
    String::from_utf8_lossy(&taken.job.as_ref().expect("a job").body).into_owned()
}

/// Takes and delivers this number of jobs, up to `most` at once. Returns their callers and bodies.
async fn call(replica: &Replica, most: usize, jobs: usize) -> Vec<(String, String)> {
    let mut called = Vec::new();
    while called.len() < jobs {
        match replica.take(most.min(jobs - called.len())).await.expect("Redis answers") {
            Take::Jobs(taken, _) => {
                for taken in taken {
                    called.push((caller_of(&taken), body_of(&taken)));
                    settle(replica, taken, DELIVERED).await;
                }
            }
            // A take may end early, so it is repeated.
            Take::Idle(_) => assert!(bucket_has_more(called.len(), jobs)),
            Take::Fenced => panic!("nobody declared it dead"),
        }
    }
    called
}

fn bucket_has_more(called: usize, jobs: usize) -> bool {
    called < jobs
}

fn count(called: &[(String, String)]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (caller, _) in called {
        *counts.entry(caller.clone()).or_default() += 1;
    }
    counts
}

fn counts<const N: usize>(counts: [(&str, usize); N]) -> BTreeMap<String, usize> {
    counts.map(|(caller, calls)| (caller.to_owned(), calls)).into()
}
