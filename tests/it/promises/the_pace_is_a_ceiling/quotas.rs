//! A pace with windows, such as a daily quota. A window ends while no process runs, or before a new process takes for
//! the first time.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_store::ServerOptions;
use dripfeed_tests::buckets::{self, admitted, open, take, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::wall_clock::WallClock;
use serde_json::{Value as Json, json};

const QUOTA: usize = 5;
/// Somewhat more than a day in s, so that a window that begins with a call is over, too.
const DAY: i64 = 25 * 3600;

fn settings(tier: Json) -> BucketSettings {
    let mut settings = buckets::settings("b");
    settings.leak.tiers = PaceTiers::read("tiers", vec![tier]).unwrap();
    settings
}

fn of_calendar() -> Json {
    json!({ "kind": "fixed", "limit": QUOTA, "period": "day", "align": "calendar(Europe/Berlin)" })
}

/// A bucket with a backlog whose quota of today is used up, and the clock of its Redis.
struct UsedUp {
    clock: WallClock,
    redis: TestRedis,
    tier: Json,
}

impl UsedUp {
    async fn with(tier: Json) -> Self {
        Self::ahead(0, tier).await
    }

    /// `seconds`: by which the clock of Redis is ahead of this machine's.
    async fn ahead(seconds: i64, tier: Json) -> Self {
        let clock = WallClock::new();
        clock.set_ahead(seconds);
        let options = ServerOptions { environment: clock.environment(), ..ServerOptions::default() };
        let this = Self { redis: TestRedis::with(options).await, clock, tier };
        let bucket = this.process().await;
        for answer in bucket.admit_many((0..50).map(|n| buckets::job(n.to_string())).collect()).await {
            admitted(answer);
        }
        let replica = buckets::join(&bucket, "first").await;
        assert_eq!(take(&replica, 50).await.len(), QUOTA);
        assert!(takes_nothing(&replica).await);
        replica.leave().await.unwrap();
        this
    }

    /// The bucket as a starting process opens it.
    async fn process(&self) -> Bucket {
        open(&self.redis, settings(self.tier.clone())).await
    }
}

async fn joins_on_the_next_day(tier: Json) {
    let used_up = UsedUp::with(tier).await;
    used_up.redis.set_clock(&used_up.clock, DAY).await;
    let replica = buckets::join(&used_up.process().await, "second").await;
    assert_eq!(take(&replica, 50).await.len(), QUOTA);
    assert!(takes_nothing(&replica).await);
}

#[tokio::test]
async fn a_new_process_uses_the_quota_of_a_new_day() {
    joins_on_the_next_day(json!({ "kind": "fixed", "limit": QUOTA, "period": "1d" })).await;
}

#[tokio::test]
async fn a_new_process_uses_the_quota_of_a_new_day_in_a_time_zone() {
    joins_on_the_next_day(of_calendar()).await;
}

#[tokio::test]
async fn a_process_whose_clock_is_wrong_by_days_uses_the_quota_of_a_new_day() {
    for days in [-3, 3] {
        let used_up = UsedUp::ahead(days * DAY, of_calendar()).await;
        used_up.redis.set_clock(&used_up.clock, (days + 1) * DAY).await;
        let replica = buckets::join(&used_up.process().await, "second").await;
        assert_eq!(take(&replica, 50).await.len(), QUOTA, "{days}");
        assert!(takes_nothing(&replica).await);
    }
}

#[tokio::test]
async fn a_new_process_uses_a_quota_that_begins_with_its_first_call() {
    joins_on_the_next_day(json!({ "kind": "fixed", "limit": QUOTA, "period": "1d", "align": "first" })).await;
}

#[tokio::test]
async fn a_process_that_was_on_standby_uses_the_quota_of_a_new_day() {
    let used_up = UsedUp::with(json!({ "kind": "fixed", "limit": QUOTA, "period": "1d" })).await;
    used_up.redis.set_clock(&used_up.clock, DAY).await;
    let standby = used_up.process().await.stand_by(Consumer::new("second"));
    assert!(standby.check(Duration::from_mins(1)).await.unwrap());
    let replica = standby.join(Consumer::new("third"), Duration::from_mins(1)).await.unwrap();
    assert_eq!(take(&replica, 50).await.len(), QUOTA);
}

#[tokio::test]
async fn who_was_there_when_the_clock_was_set_gains_nothing() {
    let used_up = UsedUp::with(json!({ "kind": "fixed", "limit": QUOTA, "period": "1d" })).await;
    let replica = buckets::join(&used_up.process().await, "second").await;
    assert!(takes_nothing(&replica).await);
    used_up.redis.set_clock(&used_up.clock, DAY).await;
    assert!(takes_nothing(&replica).await);
}
