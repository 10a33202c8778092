//! Callers that submit endlessly. Each job has an idempotency key, and is sent until it is accepted.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::client::Client;
use crate::upstream::Upstream;

const BETWEEN_TRIES: Duration = Duration::from_millis(20);

pub struct Callers {
    ended: Arc<AtomicBool>,
    callers: Vec<JoinHandle<Seen>>,
}

/// The responses to callers.
#[derive(Default)]
pub struct Seen {
    /// The ids of accepted jobs, by idempotency key.
    pub accepted: HashMap<String, String>,
    /// How long each 503 took.
    pub refusals: Vec<Duration>,
    /// How many 503 had an unknown outcome.
    pub unknown: usize,
}

impl Callers {
    /// Starts `count` callers, distributed over the clients, that submit up to `per_second` jobs a second in total.
    #[must_use]
    pub fn start(count: u32, clients: &[Client], bucket: &str, per_second: u32) -> Self {
        let every = Duration::from_secs(1) * count / per_second;
        let ended = Arc::new(AtomicBool::new(false));
        let start = |name: u32| {
            let client = clients[name as usize % clients.len()].clone();
            tokio::spawn(submit(client, bucket.to_owned(), name, every, Arc::clone(&ended)))
        };
        Self { callers: (0..count).map(start).collect(), ended }
    }

    /// Stops after the last job of each caller is accepted.
    pub async fn stop(self) -> Seen {
        self.ended.store(true, Ordering::SeqCst);
        let mut all = Seen::default();
        for caller in self.callers {
            let seen = caller.await.expect("a caller that ended well");
            all.accepted.extend(seen.accepted);
            all.refusals.extend(seen.refusals);
            all.unknown += seen.unknown;
        }
        all
    }
}

/// Idempotency keys without a delivered job, and those with several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Broken {
    pub lost: Vec<String>,
    pub doubled: Vec<String>,
}

impl Seen {
    /// The accepted jobs that the upstream didn't get exactly as one job.
    pub fn broken_at(&self, upstream: &Upstream) -> Broken {
        let mut jobs: HashMap<String, HashSet<String>> = HashMap::new();
        for call in upstream.calls() {
            jobs.entry(call.text().to_owned()).or_default().insert(call.job);
        }
        let mut broken = Broken::default();
        for (key, id) in &self.accepted {
            let mut called = jobs.remove(key).unwrap_or_default();
            if !called.remove(id) {
                broken.lost.push(format!("{key} ({id})"));
            }
            if !called.is_empty() {
                broken.doubled.push(format!("{key} ({id}, and {called:?})"));
            }
        }
        broken
    }
}

async fn submit(client: Client, bucket: String, name: u32, every: Duration, ended: Arc<AtomicBool>) -> Seen {
    let mut seen = Seen::default();
    let mut turns = interval(every);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for number in 0.. {
        turns.tick().await;
        if ended.load(Ordering::SeqCst) {
            break;
        }
        let key = format!("{name}-{number}");
        loop {
            let started = Instant::now();
            let answer = client.submit_once(&bucket, &key, key.clone()).await.expect("an answer");
            match answer.status {
                202 => {
                    seen.accepted.insert(key, answer.text("id"));
                    break;
                }
                503 => {
                    assert_eq!(answer.text("code"), "store_unavailable");
                    let outcome = answer.text("outcome");
                    assert!(["not_stored", "unknown"].contains(&outcome.as_str()), "{outcome}");
                    assert!(answer.headers.contains_key("retry-after"));
                    seen.refusals.push(started.elapsed());
                    seen.unknown += usize::from(outcome == "unknown");
                }
                429 => {}
                _ => panic!("{answer:?}"),
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
        }
    }
    seen
}

/// Submits a job until it is accepted. Returns how long that took.
///
/// # Panics
/// When there is no answer at all.
pub async fn until_taken(client: &Client, bucket: &str) -> Duration {
    let started = Instant::now();
    while client.submit(bucket, "again").await.expect("an answer").status != 202 {
        tokio::time::sleep(BETWEEN_TRIES).await;
    }
    started.elapsed()
}
