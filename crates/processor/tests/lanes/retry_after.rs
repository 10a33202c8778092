use std::time::Duration;

use dripfeed_bucket::{Admission, Bucket, Refused};
use dripfeed_job::{StartTime, Submission};
use dripfeed_tests::machine::stalls::Stalls;
use tokio::time::sleep;

use crate::harness::{Harness, Work, admitted, job, settings};
use crate::upstream::Feed;

async fn fill(bucket: &Bucket) -> Refused {
    loop {
        if let Admission::Refused(refused) = bucket.admit(job("meat")).await.unwrap() {
            return refused;
        }
    }
}

/// In a turn, a bucket is full, and a caller waits as long as reported. What it asks for then is granted, unless
/// nothing went on meanwhile: then it takes another turn.
async fn turns_get_in(harness: &Harness, bucket: &Bucket, turns: usize, as_reported: fn(Duration) -> Duration) {
    let stalls = Stalls::watch(harness.store.clone());
    let mut turn = 0;
    while turn < turns {
        stalls.were_there();
        let wait = fill(bucket).await.retry_after.unwrap();
        assert!(!wait.is_zero() && wait < Duration::from_secs(5), "turn {turn}: {wait:?}");
        sleep(as_reported(wait)).await;
        match bucket.admit(job("meat")).await.unwrap() {
            Admission::Admitted(_) => turn += 1,
            Admission::Refused(_) => assert!(stalls.were_there(), "turn {turn}: {wait:?} was not enough"),
        }
    }
}

/// Until a job has left: then the processor has joined, and hears of the next at once.
async fn begin_to_leak(bucket: &Bucket) {
    admitted(bucket, job("meat")).await;
    while bucket.level().await.unwrap() > 0 {
        tokio::task::yield_now().await;
    }
}

/// At a steady pace, at one that has just begun, and behind a throttle: a caller that waits as long as reported, and is
/// alone, gets in.
#[tokio::test]
async fn who_waits_as_long_as_told_and_is_alone_gets_in() {
    let (harness, upstream) = (Harness::start().await, Feed::open().await.that_is_content());
    for (number, rate) in ["2/s", "5/s", "20/s"].into_iter().enumerate() {
        let mut paced = settings(&format!("feed{number}"));
        paced.capacity = 3;
        paced.leak.rate = Some(rate.parse().unwrap());
        let bucket = harness.bucket(paced);
        let work = Work::begin(vec![(bucket.clone(), upstream.clone())]);
        begin_to_leak(&bucket).await;
        // As the header says it: whole seconds, rounded up.
        turns_get_in(&harness, &bucket, 4, |wait| {
            Duration::from_secs(wait.as_millis().div_ceil(1000).try_into().unwrap())
        })
        .await;
        work.ended().await;
    }
}

/// The exact milliseconds of the problem are enough as well.
#[tokio::test]
async fn the_milliseconds_told_are_enough() {
    let (harness, upstream) = (Harness::start().await, Feed::open().await.that_is_content());
    let mut paced = settings("feed");
    paced.capacity = 2;
    paced.leak.rate = Some("4/s".parse().unwrap());
    let bucket = harness.bucket(paced);
    let work = Work::begin(vec![(bucket.clone(), upstream.clone())]);
    begin_to_leak(&bucket).await;
    turns_get_in(&harness, &bucket, 8, |wait| wait).await;
    work.ended().await;
}

/// In a bucket that is full of parked jobs there is room when the first of them is due.
#[tokio::test]
async fn parked_jobs_leave_no_room_before_they_are_due() {
    let (harness, upstream) = (Harness::start().await, Feed::open().await.that_is_content());
    let mut small = settings("feed");
    small.capacity = 2;
    let bucket = harness.bucket(small);
    let work = Work::begin(vec![(bucket.clone(), upstream.clone())]);
    for hours in [5, 3] {
        admitted(&bucket, Submission { start: StartTime::After(Duration::from_hours(hours)), ..job("meat") }).await;
    }
    while bucket.census().await.unwrap().parked < 2 {
        tokio::task::yield_now().await;
    }
    let wait = fill(&bucket).await.retry_after.unwrap();
    assert!((Duration::from_mins(179)..Duration::from_mins(181)).contains(&wait), "{wait:?}");
    work.ended().await;
}
