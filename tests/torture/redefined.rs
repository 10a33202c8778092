//! A bucket that is created, used and deleted over the API while processes die: what is asked is asked again until the
//! answer is known.

use std::time::{Duration, Instant};

use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::torture::harness::Harness;
use dripfeed_tests::torture::process_slot::ProcessSlot;
use dripfeed_tests::upstream::Upstream;
use http::Method;
use serde_json::{Value, json};

/// Jobs of each round.
const JOBS: usize = 20;
/// Between two tries.
const AGAIN: Duration = Duration::from_millis(20);
/// For jobs to be called, whatever died: far more than a lease.
const PATIENCE: Duration = Duration::from_mins(2);

pub struct Redefined<'h> {
    harness: &'h Harness,
    upstream: &'h Upstream,
    name: String,
}

/// One life of a name.
pub struct Round {
    pub name: String,
    /// Bodies and ids of what was accepted.
    pub jobs: Vec<(String, String)>,
    /// Deleted with what was still in it.
    pub is_purged: bool,
    pub wrong: Vec<String>,
}

impl<'h> Redefined<'h> {
    pub const fn new(harness: &'h Harness, upstream: &'h Upstream, name: String) -> Self {
        Self { harness, upstream, name }
    }

    /// Every third one is replaced meanwhile, every other one is purged, and half of them last until all know them.
    pub async fn round(&self, number: usize) -> Round {
        let life = format!("{}/{number}", self.name);
        let mut round =
            Round { name: self.name.clone(), jobs: Vec::new(), is_purged: number % 2 == 1, wrong: Vec::new() };
        self.put(&life).await;
        self.is_clean(&mut round.wrong).await;
        for n in 0..JOBS {
            if n == JOBS / 2 && number % 3 == 2 {
                self.put(&format!("{life}/replaced")).await;
            }
            let body = format!("{life} {n}");
            match self.submit(n, &body).await {
                Ok(id) => round.jobs.push((body, id)),
                Err(answer) => round.wrong.push(format!("`{body}` was refused: {answer:?}")),
            }
        }
        if !round.is_purged {
            round.wrong.extend(self.drained().await);
        }
        if number % 4 > 1 {
            self.is_known().await;
        }
        self.delete(if round.is_purged { "?purge=true" } else { "" }).await;
        self.is_gone(&mut round.wrong).await;
        round
    }

    /// By whichever intakes run, one after the other, until one answers otherwise than that it is, or Redis is, away.
    async fn ask(&self, method: Method, path: &str, key: Option<String>, body: &str) -> ClientResponse {
        let begun = Instant::now();
        let path = format!("/v1/buckets/{}{path}", self.name);
        loop {
            for client in self.clients() {
                let mut request = client.request(method.clone(), &path);
                if let Some(key) = &key {
                    request = request.header("idempotency-key", key);
                }
                match client.call(request, body.to_owned()).await {
                    Ok(answer) if answer.status != 503 => return answer,
                    _ => {}
                }
            }
            assert!(begun.elapsed() < PATIENCE, "{method} {path} isn't answered");
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// In another order each time.
    fn clients(&self) -> Vec<Client> {
        let mut clients: Vec<Client> = self.harness.intakes.iter().filter_map(ProcessSlot::client).collect();
        fastrand::shuffle(&mut clients);
        clients
    }

    async fn put(&self, path: &str) {
        let definition = json!({ "upstream": format!("{}/{path}", self.upstream.url()), "leak": { "concurrency": 4 } });
        let answer = self.ask(Method::PUT, "", None, &definition.to_string()).await;
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
    }

    /// Nothing of an earlier life is shown.
    async fn is_clean(&self, wrong: &mut Vec<String>) {
        for list in ["outcomes", "dead", "jobs"] {
            let answer = self.ask(Method::GET, &format!("/{list}"), None, "").await;
            if answer.status != 200 || answer.json()["items"] != json!([]) {
                wrong.push(format!("{} came back with {list}: {answer:?}", self.name));
            }
        }
    }

    /// Under the same keys in each life.
    async fn submit(&self, n: usize, body: &str) -> Result<String, ClientResponse> {
        let answer = self.ask(Method::POST, "/jobs", Some(format!("key-{n}")), body).await;
        if answer.status == 202 { Ok(answer.text("id")) } else { Err(answer) }
    }

    async fn drained(&self) -> Option<String> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let state = self.ask(Method::GET, "", None, "").await;
            if state.status == 200 && state.number("level") == 0 {
                return None;
            }
            tokio::time::sleep(AGAIN).await;
        }
        Some(format!("jobs of {} are left after {PATIENCE:?}", self.name))
    }

    /// By all intakes that run: what only asks about a name forgets it sooner than what follows its definition.
    async fn is_known(&self) {
        let begun = Instant::now();
        loop {
            let mut is_known = true;
            for client in self.clients() {
                let listed = client.get("/v1/buckets?limit=1000").await;
                let names =
                    listed.ok().filter(|answer| answer.status == 200).map(|answer| answer.json()["items"].clone());
                let names = names.as_ref().and_then(Value::as_array).into_iter().flatten();
                is_known &= names.into_iter().any(|bucket| bucket["name"] == self.name.as_str());
            }
            if is_known {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{} isn't known everywhere", self.name);
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Gone already: by a try that wasn't answered.
    async fn delete(&self, how: &str) {
        let begun = Instant::now();
        loop {
            let answer = self.ask(Method::DELETE, how, None, "").await;
            match answer.status {
                204 | 404 => return,
                // Jobs are in flight.
                409 if begun.elapsed() < PATIENCE => tokio::time::sleep(AGAIN).await,
                _ => panic!("it isn't deleted: {answer:?}"),
            }
        }
    }

    /// At every intake.
    async fn is_gone(&self, wrong: &mut Vec<String>) {
        for client in self.clients() {
            if let Ok(answer) = client.submit(&self.name, "late").await
                && !matches!(answer.status, 404 | 503)
            {
                wrong.push(format!("{} took a job after it was deleted: {answer:?}", self.name));
            }
        }
    }
}
