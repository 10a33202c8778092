use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketSettings, KnownSchedule, RefusalReason, TickEnd};
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::schedule::{Missed, Overlap, Policy};
use dripfeed_tests::buckets::{self, DELIVERED, join, open, settle, submit, take_one};
use dripfeed_tests::redis_server::TestRedis;

use super::{LONG, define, every, id, now_ms, round};

const PERIOD: u64 = LONG * 1000;
const MINUTE: u64 = 60_000;

async fn known(bucket: &Bucket) -> KnownSchedule {
    known_as(bucket, "s").await
}

async fn known_as(bucket: &Bucket, name: &str) -> KnownSchedule {
    bucket.schedule(&id(name)).await.unwrap().1.unwrap()
}

/// A schedule of every minute, of which nothing was submitted for two hours. Returns the number of its jobs and of its
/// missed ticks, and how many minutes old the last tick with a job is.
async fn after_two_hours(missed: Missed, grace: Option<Duration>) -> (usize, u64, u64) {
    let redis = TestRedis::start().await;
    loop {
        let bucket = open(&redis, BucketSettings { capacity: 1000, ..buckets::settings("b") }).await;
        let last = now_ms(&redis).await / MINUTE * MINUTE;
        define(&bucket, "s", last - 120 * MINUTE).await;
        let ends = round(&bucket, &every(60), Policy { missed, grace, ..Policy::default() }).await;
        let (known, level) = (known(&bucket).await, bucket.census().await.unwrap().level);
        if now_ms(&redis).await / MINUTE * MINUTE == last {
            let jobs = ends.iter().filter(|end| matches!(end, TickEnd::Submitted(_))).count();
            assert_eq!((level, known.next_ms), (jobs as u64, Some(last + MINUTE)));
            return (jobs, known.state.missed, (last - known.state.last.unwrap().0) / MINUTE);
        }
        // A minute has ended meanwhile, so it is tried again.
        redis.ask::<()>("FLUSHALL").await;
    }
}

#[tokio::test]
async fn two_hours_of_downtime_are_made_up_for_as_the_schedule_says() {
    assert_eq!(after_two_hours(Missed::Latest, None).await, (1, 120, 0));
    assert_eq!(after_two_hours(Missed::All, None).await, (100, 21, 0));
    let grace = Some(Duration::from_mins(10));
    let (jobs, missed, last) = after_two_hours(Missed::All, grace).await;
    // The tick of ten minutes ago is older than the grace, unless a minute begins right now.
    assert!((10..=11).contains(&jobs) && jobs as u64 + missed == 121 && last == 0, "{jobs} {missed} {last}");
    assert_eq!(after_two_hours(Missed::Skip, None).await, (1, 120, 0));
}

#[tokio::test]
async fn what_is_skipped_gets_no_job_once_it_is_late() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let now = now_ms(&redis).await;
    let skip = Policy { missed: Missed::Skip, grace: Some(Duration::from_millis(1)), ..Policy::default() };
    let tick = now / PERIOD * PERIOD;
    define(&bucket, "s", tick).await;
    assert_eq!(round(&bucket, &every(LONG), skip).await, []);
    let known = known(&bucket).await;
    assert_eq!((known.state.missed, known.state.last, known.next_ms), (1, None, Some(tick + PERIOD)));
    assert_eq!(bucket.census().await.unwrap().level, 0);
}

#[tokio::test]
async fn a_full_bucket_is_asked_again_until_the_next_tick() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity: 1, ..buckets::settings("b") }).await;
    let replica = join(&bucket, "r").await;
    let fill = async || submit(&bucket, buckets::job("others")).await;
    let empty = async || settle(&replica, take_one(&replica).await, DELIVERED).await;
    let tick = now_ms(&redis).await / PERIOD * PERIOD;

    fill().await;
    define(&bucket, "s", tick).await;
    for _ in 0..3 {
        let [TickEnd::Refused { reason, .. }] = round(&bucket, &every(LONG), Policy::default()).await[..] else {
            panic!("it is full")
        };
        assert_eq!(reason, RefusalReason::BucketFull);
    }
    let waiting = known(&bucket).await;
    assert_eq!((waiting.next_ms, waiting.state.missed), (Some(tick), 0));
    assert_eq!(waiting.state.reason, Some(RefusalReason::BucketFull));
    empty().await;
    assert!(matches!(round(&bucket, &every(LONG), Policy::default()).await[..], [TickEnd::Submitted(_)]));
    let done = known(&bucket).await;
    assert_eq!((done.next_ms, done.state.missed, done.state.reason), (Some(tick + PERIOD), 0, None));
    assert_eq!(done.state.last.unwrap().0, tick);
    empty().await;

    // The next tick came while the bucket was full, so the earlier one is missed.
    define(&bucket, "other", tick - PERIOD).await;
    fill().await;
    for _ in 0..2 {
        assert!(matches!(round(&bucket, &every(LONG), Policy::default()).await[..], [TickEnd::Refused { .. }]));
        let waiting = known_as(&bucket, "other").await;
        assert_eq!((waiting.state.missed, waiting.next_ms), (1, Some(tick)), "it is counted once, while it is full");
        assert_eq!(waiting.state.reason, Some(RefusalReason::BucketFull));
    }
    empty().await;
    round(&bucket, &every(LONG), Policy::default()).await;
    let done = known_as(&bucket, "other").await;
    assert_eq!((done.state.missed, done.next_ms), (1, Some(tick + PERIOD)));
    assert_eq!(done.state.last.unwrap().0, tick, "the latest one has its job");
}

#[tokio::test]
async fn while_it_is_full_no_tick_is_missed_that_may_be_made_up() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity: 1, ..buckets::settings("b") }).await;
    let replica = join(&bucket, "r").await;
    let tick = now_ms(&redis).await / PERIOD * PERIOD;
    let all = Policy { missed: Missed::All, ..Policy::default() };
    submit(&bucket, buckets::job("others")).await;
    define(&bucket, "s", tick - 2 * PERIOD).await;
    let ends = round(&bucket, &every(LONG), all).await;
    assert!(matches!(ends[..], [TickEnd::Refused { .. }, TickEnd::Gone, TickEnd::Gone]), "{ends:?}");
    let waiting = known(&bucket).await;
    assert_eq!((waiting.state.missed, waiting.next_ms), (0, Some(tick - 2 * PERIOD)));
    for _ in 0..3 {
        settle(&replica, take_one(&replica).await, DELIVERED).await;
        let ends = round(&bucket, &every(LONG), all).await;
        assert!(matches!(ends.first(), Some(TickEnd::Submitted(_))), "{ends:?}");
    }
    let done = known(&bucket).await;
    assert_eq!((done.state.missed, done.next_ms), (0, Some(tick + PERIOD)));
}

#[tokio::test]
async fn a_tick_waits_for_no_job_of_an_earlier_one_unless_it_says_so() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let replica = join(&bucket, "r").await;
    let tick = now_ms(&redis).await / PERIOD * PERIOD;
    let alone = Policy { overlap: Overlap::Skip, ..Policy::default() };
    let again = async |tick: u64| {
        let move_to = format!("ZADD {} {tick} s", super::NEXT);
        redis.ask::<u64>(&move_to).await;
        round(&bucket, &every(LONG), alone).await
    };

    define(&bucket, "s", tick - 2 * PERIOD).await;
    let far = Policy { missed: Missed::All, ..alone };
    let ends = round(&bucket, &every(LONG), far).await;
    assert!(matches!(ends[..], [TickEnd::Submitted(_), TickEnd::Overlapped, TickEnd::Overlapped]), "{ends:?}");
    assert_eq!(known(&bucket).await.state.overlapped, 2);
    let claimed = take_one(&replica).await;
    assert_eq!(again(tick).await, [TickEnd::Overlapped], "in flight");
    settle(&replica, claimed, DELIVERED).await;
    assert!(matches!(again(tick).await[..], [TickEnd::Submitted(_)]));
    let known = known(&bucket).await;
    assert_eq!((known.state.overlapped, known.state.missed, known.next_ms), (3, 0, Some(tick + PERIOD)));
}

#[tokio::test]
async fn a_job_that_somebody_submitted_for_a_tick_is_the_one_of_that_tick() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let tick = now_ms(&redis).await / PERIOD * PERIOD;
    let by_hand = |name: &str, body: &str| {
        let key = IdempotencyKey::parse(&format!("schedule/{name}/{tick}")).ok();
        dripfeed_job::Submission { idempotency_key: key, ..buckets::job(body) }
    };
    let same = submit(&bucket, by_hand("s", &tick.to_string())).await.id;
    submit(&bucket, by_hand("other", "another body")).await;
    define(&bucket, "s", tick).await;
    define(&bucket, "other", tick).await;
    let mut ends = round(&bucket, &every(LONG), Policy::default()).await;
    ends.sort_by_key(|end| *end == TickEnd::Missed);
    assert_eq!(ends, [TickEnd::Submitted(same), TickEnd::Missed]);
    assert_eq!(bucket.census().await.unwrap().level, 2, "nothing was added");
    let other = known_as(&bucket, "other").await;
    assert_eq!((other.state.missed, other.state.reason, other.next_ms), (1, None, Some(tick + PERIOD)));
}

#[tokio::test]
async fn a_schedule_takes_the_share_and_the_limits_of_its_caller() {
    let redis = TestRedis::start().await;
    let settings = BucketSettings { max_share: Some("2%".parse().unwrap()), ..buckets::settings("b") };
    let bucket = open(&redis, settings).await;
    let of_shop = || dripfeed_job::Submission { caller: Some("shop".to_owned()), ..buckets::job("x") };
    let tick = now_ms(&redis).await / PERIOD * PERIOD;
    let fire = async || {
        define(&bucket, "s", tick).await;
        let found = bucket.due_schedules(0).await.unwrap();
        let step = Policy::default().steps(&every(LONG), tick, found.now_ms)[0];
        let job = dripfeed_bucket::TickJob::new(&found.due[0], step, true, of_shop()).unwrap();
        bucket.submit_ticks(vec![job]).await.unwrap()[0]
    };
    submit(&bucket, of_shop()).await;
    submit(&bucket, of_shop()).await;
    let TickEnd::Refused { reason, .. } = fire().await else { panic!("it has its share") };
    assert_eq!(reason, RefusalReason::ShareUsedUp);
    bucket.purge().await.unwrap();
    assert!(matches!(fire().await, TickEnd::Submitted(_)));
    assert_eq!(bucket.holders().await.unwrap()[0].caller, "shop");
}
