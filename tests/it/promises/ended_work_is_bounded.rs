//! Promise 11: What is kept of ended work is bounded by number, bytes and age, also in a bucket where nothing ends any
//! more, and no dead letter is dropped without being counted.

use std::time::Duration;

use dripfeed_bucket::{
    Bucket, BucketSettings, CancelResult, ClaimedJob, CloseResult, OpenResult, Replica, Settlement, Take, WhenDeadFull,
};
use dripfeed_job::outcome::AnswerBody;
use dripfeed_job::{Ending, JobId};
use dripfeed_store::ServerOptions;
use dripfeed_tests::buckets::{self, buried, join, open, settle, submit, take};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Upstream};
use dripfeed_tests::wall_clock::WallClock;
use futures::future::join_all;

fn roomy() -> BucketSettings {
    BucketSettings { capacity: 10_000, ..buckets::settings("b") }
}

/// A bucket that keeps 100 outcomes, and a replica of it.
async fn keeping_100(redis: &TestRedis) -> (Bucket, Replica) {
    let mut settings = roomy();
    settings.keep.most_outcomes = 100;
    let bucket = open(redis, settings).await;
    let replica = join(&bucket, "replica").await;
    (bucket, replica)
}

async fn submit_many(bucket: &Bucket, jobs: usize, body: &str) {
    let many = (0..jobs).map(|_| buckets::job(body)).collect();
    for admission in bucket.admit_many(many).await {
        buckets::admitted(admission);
    }
}

async fn deliver_many(replica: &Replica, jobs: usize) {
    let mut left = jobs;
    while left > 0 {
        let taken = take(replica, left).await;
        left -= taken.len();
        join_all(taken.into_iter().map(|taken| settle(replica, taken, buckets::DELIVERED))).await;
    }
}

/// The number of outcomes in Redis, and the bytes of their records.
async fn outcomes(redis: &TestRedis) -> (usize, usize) {
    let store = redis.store().await;
    let records: Vec<String> = store.command(redis::cmd("HVALS").arg("dripfeed:{b}:outcomes")).await.unwrap();
    let members: Vec<String> =
        store.command(redis::cmd("ZRANGE").arg("dripfeed:{b}:outcomes:ended").arg(0).arg(-1)).await.unwrap();
    let listed: usize = members.iter().map(|ids| ids.split_whitespace().count()).sum();
    assert_eq!(listed, records.len());
    let bytes = records.iter().map(String::len).sum();
    let counted: Option<usize> =
        store.command(redis::cmd("HGET").arg("dripfeed:{b}:tally").arg("outcomes_bytes")).await.unwrap();
    assert_eq!(counted.unwrap_or_default(), bytes, "counted, and found");
    (records.len(), bytes)
}

#[tokio::test]
async fn as_many_outcomes_are_forgotten_as_are_added() {
    let redis = TestRedis::start().await;
    let (bucket, replica) = keeping_100(&redis).await;
    for _ in 0..3 {
        submit_many(&bucket, 2000, "x").await;
        deliver_many(&replica, 2000).await;
        assert_eq!(outcomes(&redis).await.0, 100);
    }
    // Forgets one at a time, of outcomes that were added together.
    for _ in 0..5 {
        submit_many(&bucket, 1, "x").await;
        deliver_many(&replica, 1).await;
        assert_eq!(outcomes(&redis).await.0, 100);
    }
    // Outcomes with long answers as well.
    let answer = AnswerBody::new(None, &[b'x'; 10_000], false);
    for _ in 0..2 {
        submit_many(&bucket, 50, "x").await;
        let (taken, answer) = (take(&replica, 50).await, Some(answer.clone()));
        let delivered = Settlement::Complete { status: 200, answer };
        join_all(taken.into_iter().map(|taken| settle(&replica, taken, delivered.clone()))).await;
        assert_eq!(outcomes(&redis).await.0, 100);
    }
    submit_many(&bucket, 100, "x").await;
    deliver_many(&replica, 100).await;
    let (count, bytes) = outcomes(&redis).await;
    assert!(count == 100 && bytes < 10_000, "{count} outcomes of {bytes} bytes");
}

/// Delivers jobs whose outcomes have several sizes, all at once.
async fn deliver_of_sizes(bucket: &Bucket, replica: &Replica, jobs: usize) {
    submit_many(bucket, jobs, "x").await;
    let mut taken = Vec::new();
    while taken.len() < jobs {
        taken.extend(take(replica, jobs - taken.len()).await);
    }
    let settled = taken.into_iter().enumerate().map(|(n, taken)| {
        let answer = (n % 3 == 0).then(|| AnswerBody::new(None, &vec![b'x'; n], false));
        settle(replica, taken, Settlement::Complete { status: 200, answer })
    });
    join_all(settled).await;
}

#[tokio::test]
async fn outcomes_are_forgotten_without_being_read() {
    let redis = TestRedis::start().await;
    let (bucket, replica) = keeping_100(&redis).await;
    // Each time some outcomes of a member of the list stay.
    for jobs in [150, 70, 1, 33, 80, 1, 64] {
        deliver_of_sizes(&bucket, &replica, jobs).await;
        assert_eq!(outcomes(&redis).await.0, 100);
    }
    assert_eq!(redis.calls("hstrlen").await, 0);
    let (hmget, scripts) = (redis.calls("hmget").await, redis.calls("evalsha").await);
    deliver_of_sizes(&bucket, &replica, 64).await;
    let (hmget, scripts) = (redis.calls("hmget").await - hmget, redis.calls("evalsha").await - scripts);
    assert!(hmget <= 3 * scripts, "{hmget} in {scripts} scripts");
}

#[tokio::test]
async fn outcomes_that_an_earlier_version_has_listed_are_forgotten_as_well() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let (bucket, replica) = keeping_100(&redis).await;
    let ended = "dripfeed:{b}:outcomes:ended";
    for round in 0..4 {
        deliver_of_sizes(&bucket, &replica, 100).await;
        assert_eq!(outcomes(&redis).await.0, 100);
        let members: Vec<(String, u64)> =
            store.command(redis::cmd("ZRANGE").arg(ended).arg(0).arg(-1).arg("WITHSCORES")).await.unwrap();
        for (member, ms) in members {
            let ids: Vec<&str> = member.split_whitespace().collect();
            let () = store.command(redis::cmd("ZREM").arg(ended).arg(&member)).await.unwrap();
            // Earlier versions list no sizes, and drop them where they cut a member. Before, each job was listed alone.
            let listed = match round {
                0 => vec![ids.join(" ")],
                1 => ids.iter().map(ToString::to_string).collect(),
                _ => {
                    let (first, rest) = member.split_once(ids[ids.len() / 2]).unwrap();
                    let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
                    vec![first, format!("{}{rest}", ids[ids.len() / 2])]
                }
            };
            for ids in listed.iter().filter(|ids| !ids.is_empty()) {
                let () = store.command(redis::cmd("ZADD").arg(ended).arg(ms).arg(ids)).await.unwrap();
            }
        }
        for jobs in [1, 30, 40] {
            deliver_of_sizes(&bucket, &replica, jobs).await;
            assert_eq!(outcomes(&redis).await.0, 100);
        }
    }
    assert!(redis.calls("hstrlen").await > 0);
}

#[tokio::test]
async fn outcomes_that_were_deleted_by_hand_are_counted_until_they_would_have_been_forgotten() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let (bucket, replica) = keeping_100(&redis).await;
    deliver_of_sizes(&bucket, &replica, 100).await;
    let ids: Vec<String> = redis.ask("HKEYS dripfeed:{b}:outcomes").await;
    for id in ids.iter().step_by(2) {
        redis.ask::<u64>(&format!("HDEL dripfeed:{{b}}:outcomes {id}")).await;
    }
    // The deleted outcomes make no room for others.
    for jobs in [50, 10, 1, 10, 100] {
        deliver_of_sizes(&bucket, &replica, jobs).await;
        assert_eq!(redis.ask::<usize>("HLEN dripfeed:{b}:outcomes").await, 100);
    }
    assert_eq!(outcomes(&redis).await.0, 100, "nothing of them is left");
    // After all were deleted, the count begins again with the next outcomes.
    redis.ask::<u64>("DEL dripfeed:{b}:outcomes").await;
    for jobs in [10, 100, 100] {
        deliver_of_sizes(&bucket, &replica, jobs).await;
        outcomes(&redis).await;
    }
    // The doctor removes deleted outcomes from the list, and counts the existing ones.
    let first: Vec<String> =
        store.command(redis::cmd("HRANDFIELD").arg("dripfeed:{b}:outcomes").arg(30)).await.unwrap();
    for id in first {
        redis.ask::<u64>(&format!("HDEL dripfeed:{{b}}:outcomes {id}")).await;
    }
    assert!(!bucket.examine(true).await.unwrap().findings.is_empty());
    outcomes(&redis).await;
    for jobs in [10, 100] {
        deliver_of_sizes(&bucket, &replica, jobs).await;
        outcomes(&redis).await;
    }
}

#[tokio::test]
async fn outcomes_are_bounded_by_bytes_and_age_also_where_nothing_ends_any_more() {
    let redis = TestRedis::start().await;
    let mut settings = roomy();
    settings.keep.outcomes_bytes = 10_000;
    let bucket = open(&redis, settings.clone()).await;
    let replica = join(&bucket, "replica").await;
    submit_many(&bucket, 1000, "x").await;
    deliver_many(&replica, 1000).await;
    let (count, bytes) = outcomes(&redis).await;
    assert!(count > 50 && bytes <= 10_000, "{count} outcomes of {bytes} bytes");
    // A lower bound of bytes, and then one of age, are enforced without further jobs.
    settings.keep.outcomes_bytes = 1000;
    bucket.reconfigure(settings.clone());
    bucket.enforce_retention().await.unwrap();
    let (count, bytes) = outcomes(&redis).await;
    assert!(count > 5 && bytes <= 1000, "{count} outcomes of {bytes} bytes");
    settings.keep.outcomes = Duration::ZERO;
    bucket.reconfigure(settings);
    bucket.enforce_retention().await.unwrap();
    assert_eq!(outcomes(&redis).await, (0, 0));
}

#[tokio::test]
async fn dead_letters_are_bounded_by_bytes_and_age_and_what_is_dropped_is_counted() {
    let redis = TestRedis::start().await;
    let mut settings = roomy();
    settings.keep.dead_bytes = 20_000;
    let bucket = open(&redis, settings.clone()).await;
    let replica = join(&bucket, "replica").await;
    let mut ids = Vec::new();
    for _ in 0..30 {
        ids.push(submit(&bucket, buckets::job("x".repeat(2000))).await.id);
        let taken = take(&replica, 1).await.pop().unwrap();
        settle(&replica, taken, buried("rejected")).await;
    }
    let census = bucket.census().await.unwrap();
    assert!(census.dead_bytes <= 20_000, "{} bytes are kept", census.dead_bytes);
    assert!((7..=9).contains(&census.dead), "{} letters are kept", census.dead);
    assert_eq!(census.dead_dropped, 30 - census.dead);
    // The latest letters are kept. Of the dropped ones the outcomes are kept.
    assert!(bucket.dead_letter(*ids.last().unwrap()).await.unwrap().is_some());
    assert!(bucket.dead_letter(ids[0]).await.unwrap().is_none());
    assert!(bucket.find(ids[0]).await.unwrap().is_some());
    // Deleted and replayed letters free their bytes.
    let kept: Vec<_> = bucket.dead_letters(&Default::default(), None, 100).await.unwrap().items;
    assert!(bucket.delete_dead(kept[0].id).await.unwrap());
    bucket.replay(kept[1].id).await.unwrap();
    let after = bucket.census().await.unwrap();
    let of_one = census.dead_bytes / census.dead;
    assert_eq!(after.dead_bytes, census.dead_bytes - 2 * of_one);
    assert_eq!((after.dead_dropped, after.dead_replayed), (census.dead_dropped, 1));
    settings.keep.dead = Duration::ZERO;
    bucket.reconfigure(settings);
    let retention = bucket.enforce_retention().await.unwrap();
    let empty = bucket.census().await.unwrap();
    assert_eq!((empty.dead, empty.dead_bytes, empty.dead_dropped), (0, 0, 28));
    assert_eq!(retention.dead_dropped, 28);
}

/// Letters and outcomes stay until a minute before their maximum age. A minute after it they are gone, both in an idle
/// bucket and when another job ends.
#[tokio::test]
async fn letters_and_outcomes_are_kept_for_as_long_as_they_may_be_and_no_longer() {
    const KEPT: i64 = 3600;
    let clock = WallClock::new();
    let options = ServerOptions { environment: clock.environment(), ..ServerOptions::default() };
    let redis = TestRedis::with(options).await;
    let mut settings = roomy();
    settings.keep.dead = Duration::from_secs(KEPT as u64);
    settings.keep.outcomes = settings.keep.dead;
    let bucket = open(&redis, settings).await;
    let replica = join(&bucket, "replica").await;
    let kept = async || (bucket.census().await.unwrap().dead, outcomes(&redis).await.0);
    bury_in_turn(&bucket, &replica, 3).await;
    redis.set_clock(&clock, KEPT - 60).await;
    bucket.enforce_retention().await.unwrap();
    assert_eq!(kept().await, (3, 3), "they aren't old enough");
    bury_in_turn(&bucket, &replica, 2).await;
    assert_eq!(kept().await, (5, 5), "nor do others take their place");
    redis.set_clock(&clock, KEPT + 60).await;
    bucket.enforce_retention().await.unwrap();
    assert_eq!(kept().await, (2, 2), "the first ones are too old");
    redis.set_clock(&clock, 2 * KEPT).await;
    bury_in_turn(&bucket, &replica, 1).await;
    assert_eq!(kept().await, (1, 1), "what ends takes the place of what is too old");
    assert_eq!(bucket.census().await.unwrap().dead_dropped, 5, "all of them are counted");
}

#[tokio::test]
async fn of_a_deleted_bucket_each_script_forgets_a_bounded_part() {
    let redis = TestRedis::start().await;
    let bucket = Bucket::defined(redis.store().await, roomy(), 7);
    assert_eq!(bucket.open(1).await.unwrap(), OpenResult::Open);
    let replica = join(&bucket, "replica").await;
    submit_many(&bucket, 6000, "x").await;
    deliver_many(&replica, 6000).await;
    submit_many(&bucket, 300, "x").await;
    let mut left = 300;
    while left > 0 {
        let taken = take(&replica, left).await;
        left -= taken.len();
        join_all(taken.into_iter().map(|taken| settle(&replica, taken, buried("rejected")))).await;
    }
    replica.leave().await.unwrap();
    let before = redis.calls("evalsha").await;
    assert_eq!(bucket.close().await.unwrap(), CloseResult::Done);
    let scripts = redis.calls("evalsha").await - before;
    assert!(scripts >= 6, "{scripts} scripts");
    for key in redis.ask::<Vec<String>>("KEYS dripfeed:{b}:*").await {
        // The response to a batch may expire meanwhile.
        let ttl: i64 = redis.ask(&format!("PTTL {key}")).await;
        let is_gone = ttl == -2;
        assert!(ttl > 0 || is_gone, "{key} would stay for ever");
    }
}

/// Submits and buries this number of jobs, one after the other.
async fn bury_in_turn(bucket: &Bucket, replica: &Replica, jobs: usize) -> Vec<JobId> {
    let mut ids = Vec::new();
    for _ in 0..jobs {
        ids.push(submit(bucket, buckets::job("x".repeat(2000))).await.id);
        settle(replica, take(replica, 1).await.pop().unwrap(), buried("rejected")).await;
    }
    ids
}

#[tokio::test]
async fn the_oldest_letter_goes_without_being_read() {
    let redis = TestRedis::start().await;
    let mut settings = roomy();
    settings.keep.dead_bytes = 20_000;
    let bucket = open(&redis, settings).await;
    let replica = join(&bucket, "replica").await;
    bury_in_turn(&bucket, &replica, 20).await;
    let dropped = bucket.census().await.unwrap().dead_dropped;
    let before = redis.calls("xrange").await;
    bury_in_turn(&bucket, &replica, 10).await;
    let read = redis.calls("xrange").await - before;
    assert_eq!(bucket.census().await.unwrap().dead_dropped, dropped + 10, "one goes for each that comes");
    assert_eq!(read, 10, "each job is read once, to be buried");
}

#[tokio::test]
async fn letters_that_were_buried_before_sizes_were_kept_go_first() {
    let redis = TestRedis::start().await;
    let mut settings = roomy();
    settings.keep.most_dead = 4;
    let bucket = open(&redis, settings).await;
    let replica = join(&bucket, "replica").await;
    let mut ids = bury_in_turn(&bucket, &replica, 4).await;
    redis.ask::<u64>("DEL dripfeed:{b}:dead:sizes").await;
    ids.extend(bury_in_turn(&bucket, &replica, 3).await);
    let kept: Vec<_> = bucket.dead_letters(&Default::default(), None, 10).await.unwrap().items;
    assert_eq!(kept.iter().map(|letter| letter.id).collect::<Vec<_>>(), ids[3..]);
    // A letter that is deleted by hand makes no room a second time either.
    let newest = redis.ask::<Vec<String>>("ZRANGE dripfeed:{b}:dead:sizes -1 -1").await;
    redis.ask::<u64>(&format!("XDEL dripfeed:{{b}}:dead {}", newest[0].split(' ').next().unwrap())).await;
    ids.remove(6);
    ids.extend(bury_in_turn(&bucket, &replica, 4).await);
    let kept: Vec<_> = bucket.dead_letters(&Default::default(), None, 10).await.unwrap().items;
    assert_eq!(kept.iter().map(|letter| letter.id).collect::<Vec<_>>(), ids[6..]);
    assert_eq!(redis.ask::<u64>("ZCARD dripfeed:{b}:dead:sizes").await, 4, "no size is left of what is gone");
}

/// Submits and takes this number of jobs of 1 MiB each.
async fn take_large(bucket: &Bucket, replica: &Replica, jobs: usize) -> Vec<ClaimedJob> {
    for _ in 0..jobs {
        submit(bucket, buckets::job("x".repeat(1 << 20))).await;
    }
    let mut taken = Vec::new();
    while taken.len() < jobs {
        taken.extend(take(replica, jobs - taken.len()).await);
    }
    taken
}

#[tokio::test]
async fn no_script_buries_more_than_a_few_mebibytes() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let bucket = open(&redis, BucketSettings { deliveries: 1, ..roomy() }).await;
    let replica = join(&bucket, "replica").await;
    let taken = take_large(&bucket, &replica, 12).await;
    join_all(taken.into_iter().map(|taken| settle(&replica, taken, buried("rejected")))).await;
    let batches: u64 = store.command(redis::cmd("HGET").arg("dripfeed:{b}:batches").arg("replica")).await.unwrap();
    assert!(batches >= 3, "12 MiB were buried in {batches} scripts");
    // Jobs of a dead replica, too.
    take_large(&bucket, &replica, 12).await;
    let before = redis.calls("evalsha").await;
    let recovery = bucket.declare_dead(replica.consumer()).await.unwrap().unwrap();
    let scripts = redis.calls("evalsha").await - before;
    assert_eq!(recovery.poisoned, 12);
    assert!(scripts >= 3, "12 MiB were buried in {scripts} scripts");
    assert_eq!(bucket.census().await.unwrap().dead, 24);
}

/// Checks that no more jobs are taken, with this number of letters. `held`: jobs that wait to be buried.
async fn holds(bucket: &Bucket, replica: &Replica, letters: u64, held: u64) {
    let census = bucket.census().await.unwrap();
    assert_eq!((census.dead, census.parked, census.pace.reason), (letters, held, "dead_full"));
    assert!(buckets::takes_nothing(replica).await);
}

#[tokio::test]
async fn a_bucket_that_may_drop_no_letter_holds_until_there_is_room() {
    let redis = TestRedis::start().await;
    let mut settings = roomy();
    (settings.keep.most_dead, settings.keep.when_dead_full) = (2, WhenDeadFull::Hold);
    let bucket = open(&redis, settings.clone()).await;
    let replica = join(&bucket, "replica").await;
    let mut ids = Vec::new();
    for n in 0..5 {
        ids.push(submit(&bucket, buckets::job(n.to_string())).await.id);
    }
    let taken = take(&replica, 5).await;
    join_all(taken.into_iter().map(|taken| settle(&replica, taken, buried("rejected")))).await;
    submit(&bucket, buckets::job("behind them")).await;
    holds(&bucket, &replica, 2, 3).await;
    assert_eq!(bucket.census().await.unwrap().level, 4);
    // Each deleted letter makes room for one waiting job, which isn't called again.
    assert!(bucket.delete_dead(ids[0]).await.unwrap());
    let Take::Jobs(jobs, _) = replica.take(1).await.unwrap() else { panic!("what is behind them isn't kept any more") };
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].job.as_ref().unwrap().body.as_ref(), b"behind them");
    for taken in jobs {
        settle(&replica, taken, buckets::DELIVERED).await;
    }
    holds(&bucket, &replica, 2, 2).await;
    let letter = bucket.dead_letter(ids[2]).await.unwrap().expect("buried as it was to be");
    assert_eq!((letter.outcome.reason.as_deref(), letter.outcome.attempts), (Some("rejected"), 1));
    // Jobs that wait to be buried can be cancelled, and a higher bound has room for the last one.
    assert_eq!(bucket.cancel(ids[3]).await.unwrap(), CancelResult::Cancelled);
    settings.keep.most_dead = 10;
    bucket.reconfigure(settings);
    assert!(buckets::takes_nothing(&replica).await);
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.dead, census.dead_dropped, census.pace.reason), (0, 3, 0, "no_rate"));
    let ended = |ending| census.ended.iter().find(|(of, _)| *of == ending).map(|(_, count)| *count);
    assert_eq!((ended(Ending::Dead), ended(Ending::Cancelled)), (Some(4), Some(1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_dead_letters_are_reported_in_metrics_state_and_log() {
    let upstream = Upstream::start(|_| async { Answer::Status(400) }).await;
    let settings = format!("[buckets.b]\nupstream = \"{}\"\nkeep = {{ most_dead = 3 }}", upstream.url());
    let service = Service::new(&settings).await;
    let intake = service.intake().await;
    let processor = service.processor().await;
    for n in 0..5 {
        assert_eq!(intake.client().submit("b", n.to_string()).await.expect("an answer").status, 202);
    }
    service.drained("b").await;
    let state = intake.client().get("/v1/buckets/b").await.expect("an answer").json();
    assert_eq!((&state["dead"], &state["totals"]["dead_dropped"]), (&3.into(), &2.into()), "{state}");
    until("the metrics count them", async || {
        let metrics = intake.client().get("/metrics").await.expect("an answer");
        let metrics = String::from_utf8_lossy(&metrics.body).into_owned();
        metrics.contains("dripfeed_dead_letters_dropped_total{bucket=\"b\"} 2")
            && metrics.contains("dripfeed_dead_letters_replayed_total{bucket=\"b\"} 0")
    })
    .await;
    until("the log reports them", async || processor.log().contains("dead letters were dropped")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_intake_alone_forgets_the_outcomes_of_a_bucket_where_no_job_ends() {
    let upstream = "upstream = \"http://127.0.0.1:9/\"";
    let service = Service::new(&format!("[buckets.b]\n{upstream}\nkeep = {{ outcomes = \"1s\" }}")).await;
    let bucket = Bucket::new(service.store().clone(), roomy());
    let id = submit(&bucket, buckets::job("x")).await.id;
    assert_eq!(bucket.cancel(id).await.unwrap(), CancelResult::Cancelled);
    let kept = async || service.redis::<u64>("HLEN dripfeed:{b}:outcomes").await;
    assert_eq!(kept().await, 1);
    let _intake = service.intake().await;
    until("the intake deletes it", async || kept().await == 0).await;
}

#[tokio::test]
async fn the_answer_to_a_batch_is_kept_for_seconds() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, roomy()).await;
    submit(&bucket, buckets::job("x")).await;
    let tokens: Vec<String> = redis.ask("KEYS dripfeed:{b}:token:*").await;
    assert_eq!(tokens.len(), 1, "{tokens:?}");
    let ttl: i64 = redis.ask(&format!("PTTL {}", tokens[0])).await;
    assert!((0..=10_000).contains(&ttl), "{ttl} ms");
}
