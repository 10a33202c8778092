//! A higher priority goes first: of the jobs that wait, all of a higher priority are called before any of a lower one,
//! and callers take turns within each. (The tests of the intake, `crates/intake/tests/http/submit/priorities.rs`, show
//! that a key can't set a higher priority than it may.)

mod histories;
mod order;
mod recovery;
mod times;

use std::collections::BTreeMap;

use dripfeed_bucket::*;
use dripfeed_job::{Priority, Submission};
use dripfeed_tests::buckets::{self, DELIVERED, settle};
use dripfeed_tests::redis_server::TestRedis;

async fn open(redis: &TestRedis) -> Bucket {
    buckets::open(redis, BucketSettings { capacity: 20_000, ..buckets::settings("b") }).await
}

fn of(caller: &str, priority: Priority) -> Submission {
    Submission { caller: Some(caller.to_owned()), priority: Some(priority), ..buckets::job("x") }
}

async fn flood(bucket: &Bucket, caller: &str, priority: Priority, jobs: usize) {
    let answers = bucket.admit_many(vec![of(caller, priority); jobs]).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Admission::Admitted(_)))));
}

fn read(taken: &ClaimedJob) -> (String, Priority) {
    let job = taken.job.as_ref().expect("a job");
    (job.caller.clone().unwrap_or_default(), job.priority.unwrap_or_default())
}

/// Takes and delivers this number of jobs, up to `most` at once. Returns their callers and priorities.
async fn call(replica: &Replica, most: usize, jobs: usize) -> Vec<(String, Priority)> {
    let mut called = Vec::new();
    while called.len() < jobs {
        // A take may end early, so it is repeated.
        let Take::Jobs(taken, _) = replica.take(most.min(jobs - called.len())).await.expect("Redis answers") else {
            continue;
        };
        for taken in taken {
            called.push(read(&taken));
            settle(replica, taken, DELIVERED).await;
        }
    }
    called
}

fn count(called: &[(String, Priority)]) -> BTreeMap<(Priority, &str), usize> {
    let mut counts = BTreeMap::new();
    for (caller, priority) in called {
        *counts.entry((*priority, caller.as_str())).or_default() += 1;
    }
    counts
}

fn sinks(called: &[(String, Priority)]) -> bool {
    called.windows(2).all(|pair| pair[0].1 >= pair[1].1)
}
