//! The doctor finds what somebody broke by hand, and mends it.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_tests::{buckets, redis_server::TestRedis};

async fn kinds(bucket: &Bucket, mend: bool) -> Vec<FindingKind> {
    bucket.examine(mend).await.unwrap().iter().map(|finding| finding.kind).collect()
}

#[tokio::test]
async fn what_was_broken_by_hand_is_found_and_mended() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let bucket = Bucket::new(store.clone(), buckets::settings("b"));
    let replica = bucket.join(Consumer::new("a"), Duration::from_secs(10), Life::First).await.unwrap();
    for answer in bucket.admit_many((0..4).map(|n| buckets::job(n.to_string())).collect()).await {
        assert!(matches!(answer, Ok(Admission::Admitted(_))));
    }
    let Take::Jobs(taken) = replica.take(3).await.unwrap() else { panic!("three jobs wait") };
    assert_eq!(kinds(&bucket, false).await, []);

    let ids: Vec<String> = taken.iter().map(|taken| taken.claim.id().to_string()).collect();
    let run = async |words: &[&str]| {
        let mut command = redis::cmd(words[0]);
        words[1..].iter().for_each(|word| {
            command.arg(*word);
        });
        store.command::<redis::Value>(&command).await.unwrap();
    };
    let jobs = "dripfeed:{b}:jobs";
    run(&["XACK", jobs, "processors", &ids[0]]).await;
    run(&["XCLAIM", jobs, "processors", "@parked", "0", &ids[1]]).await;
    run(&["XDEL", jobs, &ids[2]]).await;
    run(&["ZADD", "dripfeed:{b}:parked", "1", "7-0"]).await;
    run(&["HSET", "dripfeed:{b}:attempts", "7-0", "1"]).await;
    run(&["HSET", "dripfeed:{b}:dead:letters", "7-0", "8-0"]).await;

    use FindingKind::*;
    let broken =
        [Stranded, Phantom, NeverDue, DueButNotParked, AttemptsOfNothing, BytesMiscounted, IndexOfNoLetter, Lost];
    let found = kinds(&bucket, true).await;
    assert!(broken.iter().all(|kind| found.contains(kind)) && found.len() == broken.len(), "{found:?}");
    // What was deleted stays lost, and stays told.
    assert_eq!(kinds(&bucket, false).await, [Lost]);
    let Take::Jobs(again) = replica.take(10).await.unwrap() else { panic!("the mended jobs are due") };
    assert_eq!(again.len(), 3);
}
