use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;

use crate::{Align, Consistency, Limiter, PolicySettings, Request, Tier};

use crate::decide::redis_decide::PER_CALL;

use super::bench::{Bench, call, policies, seconds, settings};

/// Calls are charged when they were let pass, not when they are reported.
mod late_reports;
/// More counters than an intake knows at once.
mod many_counters;
/// Counts of policies that are reported at different times.
mod syncs;

const DAY: Align = Align::Epoch { spread: None };

fn leased(tiers: Vec<Tier>) -> PolicySettings {
    PolicySettings { consistency: Consistency::Leased, ..settings("leased", tiers) }
}

fn counted(tiers: Vec<Tier>, sync: Duration) -> PolicySettings {
    PolicySettings { consistency: Consistency::Async { sync }, ..settings("counted", tiers) }
}

/// A window that doesn't end in a test, whatever the time of day.
fn long(limit: u64) -> Tier {
    Tier::fixed(limit, seconds(100_000_000 / 4), DAY).unwrap()
}

async fn ask(limiter: &Limiter, caller: &str, count: usize) -> u64 {
    let mut allowed = 0;
    for _ in 0..count {
        allowed += u64::from(limiter.decide(&call(caller)).await.unwrap().allowed);
    }
    allowed
}

async fn replicas(bench: &Bench, count: usize, settings: &PolicySettings) -> Vec<Limiter> {
    join_all((0..count).map(|_| bench.patient_limiter(vec![settings.clone()]))).await
}

#[tokio::test]
async fn leased_eight_replicas_are_never_over_and_use_it_up_with_few_calls() {
    let bench = Bench::new().await;
    let replicas = replicas(&bench, 8, &leased(vec![long(10_000)])).await;
    let asked = replicas.iter().map(|limiter| async { ask(limiter, "acme", 2_000).await });
    let allowed: u64 = join_all(asked).await.into_iter().sum();
    assert!((9_900..=10_000).contains(&allowed), "{allowed}");
    let calls = bench.script_calls().await;
    assert!(calls < 2_000, "{calls} calls for 16,000 decisions");
}

#[tokio::test]
async fn leased_a_bucket_stays_within_its_burst_and_rate() {
    /// Far more than a burst. On a busy machine they take longer.
    const PASSED: usize = 1_200;
    let bench = Bench::new().await;
    let tier = Tier::bucket(400, seconds(1), 400).unwrap();
    let replicas = replicas(&bench, 4, &leased(vec![tier])).await;
    let (all, begun) = (&AtomicUsize::new(0), Instant::now());
    let asked = replicas.iter().map(|limiter| async move {
        let mut passed = Vec::new();
        while all.load(Ordering::Relaxed) < PASSED {
            let before = Instant::now();
            if limiter.decide(&call("acme")).await.unwrap().allowed {
                passed.push((before, Instant::now()));
                all.fetch_add(1, Ordering::Relaxed);
            }
            assert!(begun.elapsed() < seconds(60), "the rate isn't used: {all:?} passed");
            tokio::time::sleep(Duration::from_micros(fastrand::u64(0..3_000))).await;
        }
        passed
    });
    let mut passed: Vec<(Instant, Instant)> = join_all(asked).await.concat();
    passed.sort();
    // A call took place between two times: counted in a window only if surely in it.
    for (at, (begin, _)) in passed.iter().enumerate().step_by(7) {
        for length in [50, 200, 700, 2_000].map(Duration::from_millis) {
            let within = passed[at..].iter().filter(|(_, end)| *end <= *begin + length).count();
            let bound = 400.0 + 400.0 * length.as_secs_f64();
            assert!(within as f64 <= bound, "{within} of {bound} in {length:?}");
        }
    }
}

#[tokio::test]
async fn leased_a_bucket_admits_three_eighths_of_its_burst_at_once() {
    let bench = Bench::new().await;
    let slow = leased(vec![Tier::bucket(100, seconds(24 * 3_600), 100).unwrap()]);
    let [one, other] = replicas(&bench, 2, &slow).await.try_into().unwrap();
    let mut allowed = 0;
    for _ in 0..100 {
        allowed += ask(&one, "acme", 1).await + ask(&other, "acme", 1).await;
    }
    assert_eq!(allowed, 37);
}

#[tokio::test]
async fn leased_what_was_not_spent_is_given_back() {
    let bench = Bench::new().await;
    let settings = leased(vec![long(1_000)]);
    let [one, other] = replicas(&bench, 2, &settings).await.try_into().unwrap();
    assert_eq!(ask(&one, "acme", 1).await, 1);
    one.close().await.unwrap();
    drop(one);
    assert_eq!(ask(&other, "acme", 1_000).await, 999);
}

/// A caller whose own timeout is short ends its request while Redis decides.
#[tokio::test]
async fn leased_what_was_taken_for_a_request_that_ended_is_given_back() {
    let bench = Bench::new().await;
    let [one, other] = replicas(&bench, 2, &leased(vec![long(1_000)])).await.try_into().unwrap();
    assert_eq!(ask(&one, "other", 1).await, 1, "Redis knows the script");
    let client = |words: &[&str]| redis::cmd("CLIENT").arg(words).to_owned();
    bench.store.command::<()>(&client(&["PAUSE", "60000", "WRITE"])).await.unwrap();
    let request = call("acme");
    let asking = one.decide(&request);
    let asked = async {
        while !bench
            .store
            .command::<String>(redis::cmd("INFO").arg("clients"))
            .await
            .unwrap()
            .contains("\nblocked_clients:1")
        {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        answer = asking => panic!("{answer:?}"),
        () = asked => (),
    }
    bench.store.command::<()>(&client(&["UNPAUSE"])).await.unwrap();
    // It may have been charged.
    let (since, mut passed) = (Instant::now(), 0);
    while passed < 999 {
        assert!(since.elapsed() < seconds(60), "{passed} passed");
        one.close().await.unwrap();
        passed += ask(&other, "acme", 1_000).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(passed, 999);
}

#[tokio::test]
async fn leased_many_scopes_are_given_back_a_bounded_number_per_script() {
    const SCRIPTS: usize = 3;
    let bench = Bench::new().await;
    bench.log_scripts().await;
    let [one, other] = replicas(&bench, 2, &leased(vec![long(1_000)])).await.try_into().unwrap();
    let callers: Vec<String> = (0..SCRIPTS * PER_CALL).map(|n| format!("caller-{n}")).collect();
    let asked = join_all(callers.iter().map(|caller| ask(&one, caller, 1))).await;
    assert_eq!(asked.iter().sum::<u64>(), callers.len() as u64);
    // On a busy machine some come back before.
    one.close().await.unwrap();
    let most = bench.most_keys().await;
    assert!((2..=PER_CALL).contains(&most), "a script for {most} scopes");
    for caller in [&callers[0], &callers[PER_CALL], &callers[callers.len() - 1]] {
        assert_eq!(ask(&other, caller, 1_000).await, 999);
    }
}

#[tokio::test]
async fn leased_what_was_not_spent_in_its_time_is_given_back() {
    let bench = Bench::new().await;
    let [idle, busy] = replicas(&bench, 2, &leased(vec![long(1_000)])).await.try_into().unwrap();
    assert_eq!(ask(&idle, "acme", 1).await, 1);
    let mut passed = ask(&busy, "acme", 1_000).await;
    // On a busy machine some come back meanwhile.
    assert!(passed >= 990, "{passed}");
    let since = Instant::now();
    while passed < 999 {
        assert!(since.elapsed() < seconds(60), "{passed} passed");
        tokio::time::sleep(Duration::from_millis(100)).await;
        passed += ask(&busy, "acme", 20).await;
    }
    assert_eq!(passed, 999);
}

#[tokio::test]
async fn leased_what_was_taken_under_an_earlier_limit_is_given_back() {
    let bench = Bench::new().await;
    let limiter = bench.patient_limiter(vec![leased(vec![long(1_000)])]).await;
    assert_eq!(ask(&limiter, "acme", 1).await, 1);
    limiter.replace(policies(vec![leased(vec![long(2_000)])])).unwrap();
    assert_eq!(ask(&limiter, "acme", 1).await, 1);
    limiter.close().await.unwrap();
    let other = bench.patient_limiter(vec![settings("leased", vec![long(2_000)])]).await;
    assert_eq!(ask(&other, "acme", 2_100).await, 1_998);
}

#[tokio::test]
async fn leased_all_or_nothing_over_strict_and_leased_policies() {
    let bench = Bench::new().await;
    let strict = settings("strict", vec![long(5)]);
    let limiter = bench.patient_limiter(vec![leased(vec![long(100)]), strict]).await;
    assert_eq!(ask(&limiter, "acme", 20).await, 5);
    limiter.replace(policies(vec![leased(vec![long(100)])])).unwrap();
    assert_eq!(ask(&limiter, "acme", 200).await, 95, "refused requests charged nothing");
}

#[tokio::test]
async fn leased_the_last_call_of_a_lease_comes_back_from_a_refused_request() {
    let bench = Bench::new().await;
    let strict = settings("strict", vec![long(1)]);
    let limiter = bench.patient_limiter(vec![leased(vec![long(150)]), strict]).await;
    assert_eq!(ask(&limiter, "acme", 20).await, 1);
    limiter.replace(policies(vec![leased(vec![long(150)])])).unwrap();
    assert_eq!(ask(&limiter, "acme", 200).await, 149, "refused requests charged nothing");
}

#[tokio::test]
async fn leased_who_only_looks_sees_what_others_have_left_and_takes_nothing() {
    let bench = Bench::new().await;
    let [one, other] = replicas(&bench, 2, &leased(vec![long(90)])).await.try_into().unwrap();
    let look = Request { cost: Some(0), ..call("acme") };
    let left = async |limiter: &Limiter| limiter.decide(&look).await.unwrap().policies[0].tiers[0].remaining;
    assert_eq!(left(&one).await, 90);
    assert_eq!(ask(&other, "acme", 50).await, 50);
    assert_eq!(left(&one).await, 40);
    assert_eq!(ask(&other, "acme", 90).await, 40, "all of them");
    assert_eq!(left(&one).await, 0);
}

#[tokio::test]
async fn leased_expires_and_is_asked_for_again() {
    let bench = Bench::new().await;
    // The lease of a bucket is a quarter of its refill: 5 s.
    let limiter = bench.patient_limiter(vec![leased(vec![Tier::bucket(5_000, seconds(1), 100_000).unwrap()])]).await;
    assert_eq!(ask(&limiter, "acme", 1).await, 1);
    let before = bench.script_calls().await;
    assert_eq!(ask(&limiter, "acme", 1).await, 1);
    assert_eq!(bench.script_calls().await, before, "spent from what was taken ahead");
    tokio::time::sleep(Duration::from_millis(5_100)).await;
    assert_eq!(ask(&limiter, "acme", 1).await, 1);
    assert_eq!(bench.script_calls().await, before + 1);
}

#[tokio::test]
async fn async_counts_are_told_in_one_call_per_sync_for_all_scopes() {
    let bench = Bench::new().await;
    let replicas = replicas(&bench, 3, &counted(vec![long(1_000)], Duration::from_millis(200))).await;
    let tenants: Vec<String> = (0..25).map(|tenant| format!("tenant-{tenant}")).collect();
    for tenant in &tenants {
        // Each replica asks for what it doesn't know.
        join_all(replicas.iter().map(|limiter| ask(limiter, tenant, 1))).await;
    }
    let before = bench.script_calls().await;
    let started = Instant::now();
    while started.elapsed() < seconds(1) {
        for limiter in &replicas {
            for tenant in &tenants {
                assert!(limiter.decide(&call(tenant)).await.unwrap().allowed);
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // One for each sync, and one more before and after.
    let most = 3 * (u64::try_from(started.elapsed().as_millis()).unwrap() / 200 + 2);
    let calls = bench.script_calls().await - before;
    assert!((3..=most).contains(&calls), "{calls} calls of {most}, of 3 replicas with 25 tenants");
}

#[tokio::test]
async fn async_replicas_see_each_other_after_a_sync_and_overshoot_is_bounded() {
    let bench = Bench::new().await;
    let sync = Duration::from_millis(100);
    let replicas = replicas(&bench, 3, &counted(vec![long(90)], sync)).await;
    let (mut allowed, mut most_in_a_sync) = (0, 0);
    for _ in 0..6 {
        let round: Vec<u64> = join_all(replicas.iter().map(|limiter| ask(limiter, "acme", 10))).await;
        allowed += round.iter().sum::<u64>();
        most_in_a_sync = most_in_a_sync.max(10);
        // Two syncs, and what a machine stands still for.
        tokio::time::sleep(15 * sync).await;
    }
    assert!(allowed >= 90 && allowed <= 90 + 2 * most_in_a_sync, "{allowed}");
    assert_eq!(join_all(replicas.iter().map(|limiter| ask(limiter, "acme", 5))).await, [0, 0, 0]);
}

#[tokio::test]
async fn async_each_replica_lets_one_limit_through_until_it_learns_of_the_others() {
    let bench = Bench::new().await;
    for (id, tier, limit) in [
        ("bucket", Tier::bucket(100, seconds(24 * 3_600), 100).unwrap(), 100),
        ("gate", Tier::gate(seconds(24 * 3_600)).unwrap(), 1),
    ] {
        let settings = PolicySettings { id: id.parse().unwrap(), ..counted(vec![tier], seconds(60)) };
        let [one, other] = replicas(&bench, 2, &settings).await.try_into().unwrap();
        assert_eq!([ask(&one, "acme", 150).await, ask(&other, "acme", 150).await], [limit, limit], "{id}");
    }
}

#[tokio::test]
async fn async_counts_that_were_not_told_are_told_at_the_end() {
    let bench = Bench::new().await;
    let settings = counted(vec![long(100)], seconds(60));
    let [one, other] = replicas(&bench, 2, &settings).await.try_into().unwrap();
    assert_eq!(ask(&one, "acme", 70).await, 70);
    one.close().await.unwrap();
    let strict = PolicySettings { consistency: Consistency::Strict, ..settings };
    other.replace(policies(vec![strict])).unwrap();
    assert_eq!(ask(&other, "acme", 70).await, 30);
}

#[tokio::test]
async fn async_a_refund_takes_back_what_was_counted() {
    let bench = Bench::new().await;
    let limiter = bench.patient_limiter(vec![counted(vec![long(1)], seconds(60))]).await;
    let decision = limiter.decide(&call("acme")).await.unwrap();
    assert_eq!(ask(&limiter, "acme", 3).await, 0);
    limiter.refund(decision).await.unwrap();
    assert_eq!(ask(&limiter, "acme", 3).await, 1);
}

/// Policies that no two calls of anyone pass.
fn one_for_all() -> PolicySettings {
    PolicySettings::new("one-for-all".parse().unwrap(), vec![long(1)])
}

#[tokio::test]
async fn async_a_refused_request_is_shown_what_is_left_without_it() {
    let bench = Bench::new().await;
    let hourly = counted(vec![Tier::bucket(10, seconds(36_000), 10).unwrap()], seconds(60));
    let limiter = bench.patient_limiter(vec![hourly, one_for_all()]).await;
    let shown = async || limiter.decide(&call("acme")).await.unwrap().policies[0].tiers[0];
    let (allowed, refused) = (shown().await, shown().await);
    assert_eq!((allowed.remaining, refused.remaining), (9, 9));
    assert!(refused.reset <= allowed.reset, "{refused:?}");
}

#[tokio::test]
async fn async_a_replica_whose_counts_were_all_taken_back_is_in_touch() {
    let bench = Bench::new().await;
    let settings = counted(vec![long(5)], Duration::from_millis(100));
    let limiter = bench.patient_limiter(vec![settings.clone(), one_for_all()]).await;
    assert_eq!([ask(&limiter, "globex", 1).await, ask(&limiter, "acme", 1).await], [1, 0]);
    // Longer than a replica goes on without a report.
    tokio::time::sleep(Duration::from_millis(1_300)).await;
    limiter.replace(policies(vec![settings])).unwrap();
    assert_eq!(ask(&limiter, "acme", 10).await, 5);
}

#[tokio::test]
async fn async_a_refused_request_is_not_charged_though_it_was_told_before_it_was_refused() {
    let bench = Bench::new().await;
    let sync = Duration::from_millis(10);
    let settings = counted(vec![long(50)], sync);
    let limiter = bench.patient_limiter(vec![settings.clone(), one_for_all()]).await;
    assert_eq!(ask(&limiter, "globex", 1).await, 1);
    limiter.decide(&Request { cost: Some(0), ..call("acme") }).await.unwrap();
    bench.server.pause().unwrap();
    let refused = tokio::spawn({
        let limiter = limiter.clone();
        async move { ask(&limiter, "acme", 1).await }
    });
    tokio::time::sleep(20 * sync).await;
    bench.server.resume().unwrap();
    assert_eq!(refused.await.unwrap(), 0);
    limiter.close().await.unwrap();
    let other = bench.patient_limiter(vec![PolicySettings { consistency: Consistency::Strict, ..settings }]).await;
    assert_eq!([ask(&other, "acme", 60).await, ask(&other, "globex", 60).await], [50, 49]);
}

#[tokio::test]
async fn async_a_changed_limit_keeps_what_was_consumed() {
    let day = seconds(24 * 3_600);
    let kinds: [fn(u64, Duration) -> Tier; 3] = [
        |limit, day| Tier::bucket(limit, day, limit).unwrap(),
        |limit, _| long(limit),
        |limit, day| Tier::sliding(limit, day * 100).unwrap(),
    ];
    for kind in kinds {
        let bench = Bench::new().await;
        let of = |limit| vec![counted(vec![kind(limit, day)], seconds(60))];
        let limiter = bench.patient_limiter(of(100)).await;
        assert_eq!(ask(&limiter, "acme", 110).await, 100);
        limiter.replace(policies(of(101))).unwrap();
        assert_eq!(ask(&limiter, "acme", 110).await, 1, "nothing was reported yet");
        limiter.close().await.unwrap();
        limiter.replace(policies(of(102))).unwrap();
        assert_eq!(ask(&limiter, "acme", 110).await, 1, "all was reported");
        limiter.replace(policies(of(101))).unwrap();
        assert_eq!(ask(&limiter, "acme", 110).await, 0);
    }
}

#[tokio::test]
async fn async_a_replica_that_does_not_know_a_scope_learns_of_it_before_its_first_decision() {
    let bench = Bench::new().await;
    let [one, other] = replicas(&bench, 2, &counted(vec![long(100)], seconds(60))).await.try_into().unwrap();
    assert_eq!(ask(&one, "acme", 70).await, 70);
    one.close().await.unwrap();
    let before = bench.script_calls().await;
    assert_eq!(ask(&other, "acme", 100).await, 30);
    assert!(bench.script_calls().await <= before + 2, "by hash, and with its source");
}
