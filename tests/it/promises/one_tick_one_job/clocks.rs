use dripfeed_store::{Durability, ServerOptions};
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::wall_clock::WallClock;
use jiff::Timestamp;
use serde_json::json;

use super::intakes::{move_to, put};
use super::now_ms;

const BUCKETS: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";
const HALF_AN_HOUR: u64 = 1800;

/// An intake whose machine has this clock.
async fn intake(service: &Service, clock: &WallClock) -> Process {
    let mut command = service.command(&[]);
    command.arg("intake").envs(clock.environment());
    Process::start("an intake", command).await
}

/// Makes the tick of another schedule due, and waits until it has its job: then the intakes have looked.
async fn another_tick_has_its_job(service: &Service, number: u64) {
    let level = service.level("b").await;
    move_to(service, "other", number).await;
    until("the other schedule's tick has its job", async || service.level("b").await > level).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clock_of_redis_decides_and_no_step_of_any_clock_doubles_a_tick() {
    let of_redis = WallClock::new();
    let options = ServerOptions { environment: of_redis.environment(), ..ServerOptions::default() };
    let service = Service::over(TestRedis::with(options).await, Durability::Everysec, BUCKETS).await;
    let [ahead, behind] = [WallClock::new(), WallClock::new()];
    ahead.set_ahead(7200);
    behind.set_ahead(-7200);
    let intakes = [intake(&service, &ahead).await, intake(&service, &behind).await];
    let client = intakes[0].client();
    for name in ["s", "other"] {
        let body = json!({"every": "366d", "missed": "all", "grace": "1d", "job": {"body": name}});
        let defined = put(&client, &format!("/v1/buckets/b/schedules/{name}"), &body).await;
        assert_eq!(defined.status, 200, "{defined:?}");
    }

    let tick = now_ms(&service.redis).await + HALF_AN_HOUR * 1000;
    move_to(&service, "s", tick).await;
    another_tick_has_its_job(&service, tick - 1_900_000).await;
    assert_eq!(service.level("b").await, 1, "half an hour is left, whatever the intakes' clocks show");
    ahead.set_ahead(-7200);
    behind.set_ahead(7200);
    another_tick_has_its_job(&service, tick - 1_890_000).await;
    assert_eq!(service.level("b").await, 2);

    service.redis.set_clock(&of_redis, 1900).await;
    until("it has come", async || service.level("b").await == 3).await;
    // The clock is set back. The tick has had its job already.
    service.redis.set_clock(&of_redis, 0).await;
    another_tick_has_its_job(&service, tick - 1_880_000).await;
    service.redis.set_clock(&of_redis, 1900).await;
    another_tick_has_its_job(&service, tick - 1_870_000).await;
    assert_eq!(service.level("b").await, 5);
    let last = client.get("/v1/buckets/b/schedules/s").await.unwrap().json();
    let next: Option<u64> = service.redis("ZSCORE dripfeed:{b}:schedules:next s").await;
    assert!(next.unwrap() > tick && last["missed_ticks"] == 0, "{last}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_that_a_clock_ahead_has_moved_on_begins_again_when_it_is_put_again() {
    const HOUR_MS: u64 = 3_600_000;
    let of_redis = WallClock::new();
    let options = ServerOptions { environment: of_redis.environment(), ..ServerOptions::default() };
    let service = Service::over(TestRedis::with(options).await, Durability::Everysec, BUCKETS).await;
    let intake = service.intake().await;
    let hourly = async || {
        let body = json!({"every": "1h", "job": {"body": 1}});
        let defined = put(&intake.client(), "/v1/buckets/b/schedules/s", &body).await;
        assert_eq!(defined.status, 200, "{defined:?}");
        service.redis::<u64>("ZSCORE dripfeed:{b}:schedules:next s").await
    };
    let first = hourly().await;
    service.redis.set_clock(&of_redis, 24 * 3600).await;
    until("its ticks have come", async || service.level("b").await == 1).await;
    service.redis.set_clock(&of_redis, 0).await;
    let next: u64 = service.redis("ZSCORE dripfeed:{b}:schedules:next s").await;
    assert!(next > first + 20 * HOUR_MS, "nothing would be submitted until then");
    let next = hourly().await;
    assert!(next <= first + HOUR_MS && next > now_ms(&service.redis).await, "{next}");
    assert_eq!(hourly().await, next);
}

/// Sets a clock to this time.
fn set(clock: &WallClock, time: &str) {
    let time: Timestamp = time.parse().expect("a time");
    clock.set_ahead(time.as_second() - Timestamp::now().as_second());
}

/// All ticks of a schedule that ever had a job.
async fn ticks(service: &Service, name: &str) -> Vec<String> {
    let once = format!("dripfeed:{{b}}:once:schedule/{name}/");
    let keys: Vec<String> = service.redis(&format!("KEYS {once}*")).await;
    let ms = keys.iter().map(|key| key[once.len()..].parse().expect("milliseconds"));
    let mut ticks: Vec<_> = ms.map(|ms| Timestamp::from_millisecond(ms).expect("a time").to_string()).collect();
    ticks.sort_unstable();
    ticks
}

/// In Berlin: a daily tick in the skipped hour comes right after it, and one in the repeated hour comes in the first of
/// the two. An hourly tick comes in both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_daily_tick_comes_once_though_the_clock_of_redis_passes_a_change_of_daylight_saving() {
    let spring = [
        ("2027-03-28T00:45:00Z", "hourly", "2027-03-28T00:30:00Z"),
        ("2027-03-28T01:15:00Z", "daily", "2027-03-28T01:00:00Z"),
        ("2027-03-28T01:45:00Z", "hourly", "2027-03-28T01:30:00Z"),
        ("2027-03-28T02:45:00Z", "hourly", "2027-03-28T02:30:00Z"),
        ("2027-03-29T00:45:00Z", "daily", "2027-03-29T00:30:00Z"),
    ];
    let autumn = [
        ("2027-10-30T23:45:00Z", "hourly", "2027-10-30T23:30:00Z"),
        ("2027-10-31T00:45:00Z", "daily", "2027-10-31T00:30:00Z"),
        ("2027-10-31T00:45:00Z", "hourly", "2027-10-31T00:30:00Z"),
        ("2027-10-31T01:45:00Z", "hourly", "2027-10-31T01:30:00Z"),
        ("2027-11-01T01:45:00Z", "daily", "2027-11-01T01:30:00Z"),
    ];
    for (before, steps) in [("2027-03-28T00:15:00Z", spring), ("2027-10-30T23:15:00Z", autumn)] {
        let of_redis = WallClock::new();
        set(&of_redis, before);
        let options = ServerOptions { environment: of_redis.environment(), ..ServerOptions::default() };
        let service = Service::over(TestRedis::with(options).await, Durability::Everysec, BUCKETS).await;
        let intake = service.intake().await;
        for (name, cron) in [("daily", "30 2 * * *"), ("hourly", "30 * * * *")] {
            let body = json!({"cron": cron, "zone": "Europe/Berlin", "job": {"body": name}});
            let defined = put(&intake.client(), &format!("/v1/buckets/b/schedules/{name}"), &body).await;
            assert_eq!(defined.status, 200, "{defined:?}");
        }
        for (time, name, tick) in steps {
            set(&of_redis, time);
            until(&format!("{name} at {tick}"), async || ticks(&service, name).await.iter().any(|known| known == tick))
                .await;
        }
        let of_days: Vec<_> = steps.iter().filter(|(_, name, _)| *name == "daily").map(|(_, _, tick)| *tick).collect();
        assert_eq!(ticks(&service, "daily").await, of_days, "one a day");
    }
}
