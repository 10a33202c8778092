//! Callers that submit without a pause, whichever intake is there, and what became of their jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dripfeed_tests::client::Client;
use dripfeed_tests::upstream::{Answer, Call, Upstream};
use http::Method;
use tokio::sync::watch;
use tokio::task::JoinHandle;

const CALLERS: usize = 6;
/// Between two submissions of a caller.
const EVERY: Duration = Duration::from_millis(60);
/// Before a job is submitted again, under the same key.
const AGAIN: Duration = Duration::from_millis(20);
/// A call.
const CALL: Duration = Duration::from_millis(10);

/// Of every ten jobs of a caller one fails first, and another one is delayed; but not in a list, which can do neither.
const PLAIN: &[&str] = &["plain"];
const MIXED: &[&str] = &["plain", "plain", "plain", FAILS, "plain", "plain", DELAYED, "plain", "plain", "plain"];
const FAILS: &str = "fails";
const DELAYED: &str = "delayed";

/// Idempotency keys, which are the bodies as well, and the jobs that they name.
pub type Accepted = BTreeMap<String, String>;

pub struct Load {
    intake: watch::Sender<Client>,
    ended: Arc<AtomicBool>,
    callers: Vec<JoinHandle<Accepted>>,
}

/// An upstream that fails the first attempt of some jobs.
pub async fn upstream() -> Upstream {
    Upstream::start(|call: Call| async move {
        tokio::time::sleep(CALL).await;
        Answer::Status(if call.attempt == 1 && call.text().ends_with(FAILS) { 500 } else { 200 })
    })
    .await
}

impl Load {
    pub fn of_stream(bucket: &'static str, intake: &Client) -> Self {
        Self::start(bucket, MIXED, intake)
    }

    pub fn of_list(bucket: &'static str, intake: &Client) -> Self {
        Self::start(bucket, PLAIN, intake)
    }

    fn start(bucket: &'static str, kinds: &'static [&'static str], intake: &Client) -> Self {
        let (intake, at) = watch::channel(intake.clone());
        let ended = Arc::<AtomicBool>::default();
        let submit = |name| tokio::spawn(submit(bucket, name, kinds, at.clone(), Arc::clone(&ended)));
        Self { callers: (0..CALLERS).map(submit).collect(), intake, ended }
    }

    /// As a load balancer does: what is submitted from now on goes to this intake.
    pub fn go_to(&self, intake: &Client) {
        self.intake.send_replace(intake.clone());
    }

    /// Ends when each caller has its last job in.
    pub async fn stop(self) -> Accepted {
        self.ended.store(true, Ordering::SeqCst);
        let mut all = Accepted::new();
        for caller in self.callers {
            all.extend(caller.await.expect("a caller that ended well"));
        }
        all
    }
}

async fn submit(
    bucket: &str,
    name: usize,
    kinds: &[&str],
    at: watch::Receiver<Client>,
    ended: Arc<AtomicBool>,
) -> Accepted {
    let mut accepted = Accepted::new();
    for (number, kind) in kinds.iter().cycle().enumerate() {
        if ended.load(Ordering::SeqCst) {
            break;
        }
        let key = format!("{bucket}-{name}-{number}-{kind}");
        let job = loop {
            let intake = at.borrow().clone();
            match put(&intake, bucket, &key).await {
                Some(job) => break job,
                None => tokio::time::sleep(AGAIN).await,
            }
        };
        accepted.insert(key, job);
        tokio::time::sleep(EVERY).await;
    }
    accepted
}

/// The job that the key names; None: it can't be accepted now.
pub async fn put(intake: &Client, bucket: &str, key: &str) -> Option<String> {
    let request = intake.request(Method::POST, &format!("/v1/buckets/{bucket}/jobs")).header("idempotency-key", key);
    let request = if key.ends_with(DELAYED) { request.header("dripfeed-delay", "300ms") } else { request };
    // An intake that ends closes its connections.
    let answer = intake.call(request, key.to_owned()).await.ok()?;
    assert!([202, 429, 503].contains(&answer.status), "{answer:?}");
    (answer.status == 202).then(|| answer.text("id"))
}

/// What was accepted, and wasn't called as often as it should be: it was lost, or called again though no attempt had
/// failed. `killed`: jobs that were in flight where a process was killed, which may be called once more.
pub fn wrong(accepted: &Accepted, upstream: &Upstream, killed: &BTreeSet<String>) -> Vec<String> {
    let mut calls: BTreeMap<String, Vec<(String, u32)>> = BTreeMap::new();
    for call in upstream.calls() {
        calls.entry(call.text().to_owned()).or_default().push((call.job, call.attempt));
    }
    let of_key = |(key, id): (&String, &String)| {
        let found = calls.get(key).cloned().unwrap_or_default();
        let due = 1 + usize::from(key.ends_with(FAILS));
        let most = due + usize::from(killed.contains(id));
        let is_right = (due..=most).contains(&found.len()) && found.iter().all(|(job, _)| job == id);
        (!is_right).then(|| format!("{key} is {id}, and was called as {found:?}"))
    };
    accepted.iter().filter_map(of_key).collect()
}
