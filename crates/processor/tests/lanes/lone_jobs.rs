use std::ops::ControlFlow;

use dripfeed_bucket::{Bucket, BucketSettings, Kind};
use redis::cmd;
use tokio::time::timeout;

use crate::harness::{Harness, Work, admitted, job, outcome, settings};
use crate::upstream::{Feed, PATIENCE};

const PROCESSES: usize = 8;
/// Until those that come too late let others ask first.
const MOST_JOBS: usize = 400;

/// Processes that are all members of `feed`, which has no job.
async fn processes(harness: &Harness, feed: &mut Feed, settings: &BucketSettings) -> (Vec<Work>, Bucket) {
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        let bucket = harness.bucket_of_another_process(settings.clone()).await;
        processes.push(Work::begin(vec![(bucket, feed.upstream())]));
    }
    let bucket = harness.bucket(settings.clone());
    let members = async || harness.store.command::<usize>(cmd("HLEN").arg("dripfeed:{feed}:replicas")).await.unwrap();
    let id = admitted(&bucket, job("meat")).await;
    let call = feed.call().await;
    timeout(PATIENCE, async { while members().await < PROCESSES {} })
        .await
        .expect("while it has a job, all are members");
    call.ok();
    outcome(&bucket, id).await;
    (processes, bucket)
}

async fn deliver(feed: &mut Feed, bucket: &Bucket) {
    let id = admitted(bucket, job("meat")).await;
    feed.call().await.ok();
    outcome(bucket, id).await;
}

/// How often `command` was called, in scripts too.
async fn calls(harness: &Harness, command: &str) -> usize {
    let stats: String = harness.store.command(cmd("INFO").arg("commandstats")).await.unwrap();
    let calls =
        stats.lines().find_map(|line| line.strip_prefix("cmdstat_")?.strip_prefix(command)?.strip_prefix(":calls="));
    calls.map_or(0, |calls| calls.split(',').next().unwrap().parse().unwrap())
}

#[tokio::test]
async fn of_many_processes_few_ask_for_a_lone_job() {
    // What each take does that looks for a job.
    for (kind, looks) in [(Kind::Stream, "xreadgroup"), (Kind::List, "rpop")] {
        let (harness, mut feed) = (Harness::start().await, Feed::open().await);
        let settings = BucketSettings { kind, ..settings("feed") };
        let (processes, bucket) = processes(&harness, &mut feed, &settings).await;
        let mut asked = Vec::new();
        let mut deliver_one = async || {
            let before = calls(&harness, looks).await;
            deliver(&mut feed, &bucket).await;
            asked.push(calls(&harness, looks).await - before);
            // Each also asks once a second, whatever is announced.
            let few = asked.iter().rev().take(20).filter(|asked| **asked <= PROCESSES / 2).count();
            if few >= 15 { ControlFlow::Break(()) } else { ControlFlow::Continue(asked.len()) }
        };
        while let ControlFlow::Continue(jobs) = deliver_one().await {
            assert!(jobs < MOST_JOBS, "{kind:?}: they go on to ask all together");
        }
        // Also the one that the others let ask first.
        for process in processes {
            deliver(&mut feed, &bucket).await;
            process.ended().await;
        }
    }
}
