use dripfeed_bucket::{Bucket, BucketSettings, DeadFilter, Kind};
use dripfeed_job::{Ending, JobId};
use redis::{FromRedisValue, Value};

use crate::harness::{Harness, Work, admitted, job, outcome, settings};
use crate::upstream::Feed;

const JOBS: &str = "dripfeed:{feed}:jobs";

async fn run<T: FromRedisValue>(harness: &Harness, words: &[&[u8]]) -> T {
    let mut command = redis::Cmd::new();
    words.iter().for_each(|word| {
        command.arg(*word);
    });
    harness.store.command(&command).await.unwrap()
}

async fn buried_as_corrupt(bucket: &Bucket, id: JobId) {
    let ended = outcome(bucket, id).await.outcome;
    assert_eq!((ended.result, ended.attempts), (Ending::Dead, 0));
    assert!(ended.reason.as_deref().unwrap().starts_with("corrupt"), "{ended:?}");
    assert_eq!(bucket.dead_letter(id).await.unwrap().unwrap().body, "poison", "kept whole, to be looked at");
}

#[tokio::test]
async fn an_entry_whose_body_is_not_the_one_that_was_admitted_is_never_sent() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let whole = admitted(&bucket, job("meat")).await;
    let entries: Vec<(String, Vec<(String, String)>)> = run(&harness, &[b"XRANGE", JOBS.as_bytes(), b"-", b"+"]).await;
    let mut words: Vec<&[u8]> = vec![b"XADD", JOBS.as_bytes(), b"*"];
    for (name, value) in &entries[0].1 {
        words.push(name.as_bytes());
        words.push(if name == "body" { b"poison" } else { value.as_bytes() });
    }
    let changed: String = run(&harness, &words).await;

    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    let call = feed.call().await;
    assert_eq!((call.header("dripfeed-job-id"), call.body.as_str()), (whole.to_string().as_str(), "meat"));
    call.ok();
    assert_eq!(outcome(&bucket, whole).await.outcome.result, Ending::Delivered);
    let changed: JobId = changed.parse().unwrap();
    buried_as_corrupt(&bucket, changed).await;
    assert!(feed.has_no_call());

    // Bringing it back doesn't make it whole.
    let again = match bucket.replay(changed).await.unwrap() {
        dripfeed_bucket::ReplayResult::As(admitted) => admitted.id,
        other => panic!("{other:?}"),
    };
    buried_as_corrupt(&bucket, again).await;
    assert!(feed.has_no_call());
    work.ended().await;
}

#[tokio::test]
async fn an_element_whose_body_is_not_the_one_that_was_admitted_is_never_sent() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(BucketSettings { kind: Kind::List, ..settings("feed") });
    let (changed, whole) = (admitted(&bucket, job("meat")).await, admitted(&bucket, job("fish")).await);
    let element: String = run(&harness, &[b"LINDEX", JOBS.as_bytes(), b"-1"]).await;
    let poisoned = element.replacen("meat", "poison", 1);
    run::<Value>(&harness, &[b"LSET", JOBS.as_bytes(), b"-1", poisoned.as_bytes()]).await;

    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    let call = feed.call().await;
    assert_eq!((call.header("dripfeed-job-id"), call.body.as_str()), (whole.to_string().as_str(), "fish"));
    call.ok();
    buried_as_corrupt(&bucket, changed).await;
    assert_eq!(outcome(&bucket, whole).await.outcome.result, Ending::Delivered);
    assert!(feed.has_no_call());
    work.ended().await;
}

#[tokio::test]
async fn an_element_that_has_lost_its_id_is_not_taken_for_anybodys_text() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(BucketSettings { kind: Kind::List, ..settings("feed") });
    admitted(&bucket, job("meat")).await;
    let element: String = run(&harness, &[b"LINDEX", JOBS.as_bytes(), b"-1"]).await;
    let headless = element.replacen("id", "ID", 1);
    run::<Value>(&harness, &[b"LSET", JOBS.as_bytes(), b"-1", headless.as_bytes()]).await;
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    let letter = loop {
        let letters = bucket.dead_letters(&DeadFilter::default(), None, 1).await.unwrap();
        if let Some(letter) = letters.items.into_iter().next() {
            break letter;
        }
        tokio::task::yield_now().await;
    };
    assert!(letter.outcome.reason.unwrap().starts_with("corrupt"));
    assert_eq!(letter.body, headless);
    assert!(feed.has_no_call());
    work.ended().await;
}

#[tokio::test]
async fn a_replayed_job_is_still_the_one_that_was_admitted() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let work_of = |bucket: &Bucket, feed: &Feed| Work::begin(vec![(bucket.clone(), feed.upstream())]);
    for kind in [Kind::Stream, Kind::List] {
        let name = format!("{kind:?}").to_lowercase();
        let bucket = harness.bucket(BucketSettings { kind, ..settings(&name) });
        let work = work_of(&bucket, &feed);
        let id = admitted(&bucket, job("meat")).await;
        feed.call().await.answer(http::StatusCode::NOT_FOUND);
        assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Dead);
        let dripfeed_bucket::ReplayResult::As(again) = bucket.replay(id).await.unwrap() else {
            panic!("there is room")
        };
        let call = feed.call().await;
        assert_eq!(call.body, "meat");
        call.ok();
        assert_eq!(outcome(&bucket, again.id).await.outcome.result, Ending::Delivered);
        assert_eq!(bucket.census().await.unwrap().bytes, 0);
        work.ended().await;
    }
}
