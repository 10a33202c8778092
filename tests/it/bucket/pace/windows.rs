use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use super::*;

const WINDOW_MS: u64 = 500;
const WINDOW: Duration = Duration::from_millis(WINDOW_MS);
/// The calls of a window.
const SHARE: u64 = 200;
/// How many windows a test checks.
const ENOUGH: u64 = 8;
/// Longer than replicas remember that replies were late, which costs them a part of a window.
const REMEMBERED: Duration = Duration::from_millis(1500);

/// The calls that one take was granted, between two times of this machine's clock, which Redis uses as well.
struct Grant {
    calls: u64,
    asked: Duration,
    answered: Duration,
}

impl Grant {
    /// The windows in which the grant may have been.
    fn windows(&self) -> RangeInclusive<u64> {
        window(self.asked)..=window(self.answered)
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970")
}

fn window(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap() / WINDOW_MS
}

/// Takes jobs endlessly, and settles none.
async fn take_all(replica: Replica, grants: &Mutex<Vec<Grant>>) {
    loop {
        let asked = now();
        match replica.take(100).await.unwrap() {
            Take::Jobs(jobs, _) => {
                grants.lock().unwrap().push(Grant { calls: jobs.len() as u64, asked, answered: now() });
            }
            Take::Idle(idle) => replica.wait(&idle).await,
            Take::Fenced => panic!("declared dead"),
        }
    }
}

/// Checks the calls that were surely granted in any range of windows.
fn keep_their_shares(grants: &[Grant]) {
    let (first, last) = (*grants[0].windows().start(), *grants[grants.len() - 1].windows().end());
    for from in first..=last {
        for to in from..=last {
            let within = |grant: &&Grant| from <= *grant.windows().start() && *grant.windows().end() <= to;
            let calls: u64 = grants.iter().filter(within).map(|grant| grant.calls).sum();
            let most = SHARE * (to - from + 1);
            assert!(calls <= most, "{calls} calls in windows {from} to {to}, of {most}");
        }
    }
}

/// The measured windows, and the calls that may have been in them.
#[derive(Debug, Default)]
struct Used {
    /// Windows during which, and before which, the machine wasn't stalled.
    calm: u64,
    calls_of_calm: u64,
    /// Windows with their whole share, also on a stalled machine.
    full: u64,
}

impl Used {
    fn add(&mut self, grants: &[Grant], stalls: &Stalls) {
        let mut windows = BTreeMap::<u64, u64>::new();
        for grant in grants {
            grant.windows().for_each(|window| *windows.entry(window).or_default() += grant.calls);
        }
        let (Some((first, _)), Some((last, _))) = (windows.pop_first(), windows.pop_last()) else { return };
        // The first and the last window were measured only in part.
        for window in first + 1..last {
            let calls = windows.get(&window).copied().unwrap_or_default();
            let begins = UNIX_EPOCH + Duration::from_millis(window * WINDOW_MS);
            if !stalls.were_in(&(begins - REMEMBERED..begins + WINDOW)) {
                self.calm += 1;
                self.calls_of_calm += calls;
            }
            self.full += u64::from(calls >= SHARE);
        }
    }

    /// Whether there are enough calm windows, which must have got 99 % of their share, or else enough full ones.
    fn is_shown(&self) -> bool {
        assert!(self.calm < ENOUGH || self.calls_of_calm * 100 >= self.calm * SHARE * 99, "{self:?}");
        self.calm >= ENOUGH || self.full >= ENOUGH
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_window_gets_more_than_its_share_and_each_gets_it() {
    let _alone = machine::alone().await;
    let (begun, mut used) = (Instant::now(), Used::default());
    while !used.is_shown() {
        assert!(begun.elapsed() < PATIENCE, "{used:?}");
        let redis = TestRedis::start().await;
        let fixed = tiers(json!([{ "kind": "fixed", "limit": SHARE, "period": "500ms" }]));
        let bucket = with_jobs(&redis, paced(Some("200/500ms"), SHARE, fixed), 3000).await;
        let replicas = [join(&bucket, "a").await, join(&bucket, "b").await, join(&bucket, "c").await];
        let (grants, stalls) = (Mutex::default(), Stalls::watch(redis.store().await));
        let taking = futures::future::join_all(replicas.map(|replica| take_all(replica, &grants)));
        timeout(Duration::from_secs(5), taking).await.unwrap_err();
        let mut grants = grants.into_inner().unwrap();
        grants.sort_unstable_by_key(|grant| grant.asked);
        keep_their_shares(&grants);
        used.add(&grants, &stalls);
    }
}
