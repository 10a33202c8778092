use std::time::{Duration, Instant};

use dripfeed_bucket::{Bucket, BucketSettings, KnownDefinitions, SuspendResult};
use dripfeed_job::JobId;
use dripfeed_tests::buckets::{self, buried, join, settle, submit, take_one};
use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::service::{PATIENCE, Service, until};
use futures::future::join_all;
use http::Method;
use serde_json::{Value, json};

use super::{faults, most_lines};
use crate::redis::readiness::until_ready;

pub const SCRIPTS: [&str; 48] = [
    "add_refusals",
    "admit",
    "advance_replay",
    "heartbeat",
    "await_outcome",
    "begin_deletion",
    "cancel",
    "cancel_many",
    "census",
    "changed_definitions",
    "changed_keys",
    "clear_bucket",
    "close_bucket",
    "apply_overrides",
    "define_schedule",
    "delete",
    "delete_definition",
    "delete_key",
    "deletion_is_decided",
    "due_schedules",
    "end_schedules",
    "find",
    "flows",
    "forget",
    "group_dead",
    "list",
    "list_dead",
    "list_history",
    "newest_letter",
    "note_schedules",
    "open_bucket",
    "outcomes",
    "pass_ticks",
    "purge",
    "put",
    "put_definition",
    "put_key",
    "record_audit",
    "reopen_bucket",
    "replay",
    "report",
    "schedule_changes",
    "show_schedules",
    "start_replay",
    "suspend_bucket",
    "switch_schedule",
    "throttled_jobs",
    "write_access",
];

/// A script or command, and a call of the API that takes it.
const CALLS: [(&str, &str); 42] = [
    ("admit", "POST /v1/buckets/b/jobs {}"),
    ("find", "GET /v1/buckets/b/jobs/{waiting}"),
    ("find", "GET /v1/buckets/b/jobs/{ended}"),
    ("list", "GET /v1/buckets/b/jobs"),
    ("cancel", "DELETE /v1/buckets/b/jobs/{waiting}"),
    ("cancel_many", "POST /v1/buckets/other/jobs/cancel {\"state\": \"waiting\"}"),
    ("census", "GET /v1/buckets/b"),
    ("flows", "GET /v1/buckets/b/flows"),
    ("add_refusals", "GET /v1/buckets/b/holders"),
    ("throttled_jobs", "GET /v1/scale?bucket=b"),
    ("outcomes", "GET /v1/buckets/b/outcomes"),
    ("report", "GET /v1/buckets/b/report?window=1h"),
    ("list_history", "GET /v1/buckets/b/history"),
    ("purge", "POST /v1/buckets/other/purge"),
    ("apply_overrides", "PATCH /v1/buckets/other {\"capacity\": 7}"),
    ("find", "GET /v1/buckets/b/jobs/{waiting}?payload=true"),
    ("group_dead", "GET /v1/buckets/other/dead/groups"),
    ("list_dead", "GET /v1/buckets/other/dead"),
    ("XRANGE", "GET /v1/buckets/other/dead/{dead}"),
    ("HGET", "GET /v1/buckets/other/dead/{dead}"),
    ("replay", "POST /v1/buckets/other/dead/{dead}/replay"),
    ("newest_letter", "POST /v1/buckets/other/dead/replays {\"reason\": \"of none\"}"),
    ("start_replay", "POST /v1/buckets/other/dead/replays {\"reason\": \"of none\"}"),
    ("forget", "DELETE /v1/buckets/other/dead/{dead}"),
    ("HKEYS", "GET /v1/buckets/list"),
    ("define_schedule", "PUT /v1/buckets/b/schedules/{schedule} {\"every\": \"366d\", \"job\": {\"body\": 1}}"),
    ("note_schedules", "POST /v1/buckets/b/schedules/{schedule}/resume"),
    ("switch_schedule", "POST /v1/buckets/b/schedules/{schedule}/pause"),
    ("show_schedules", "GET /v1/buckets/b/schedules/{schedule}"),
    ("HKEYS", "GET /v1/buckets/b/schedules"),
    ("end_schedules", "DELETE /v1/buckets/b/schedules/{schedule}"),
    ("put", "PUT /v1/services/shop/rules {\"policies\": []}"),
    ("delete", "DELETE /v1/services/{service}/rules"),
    ("put_definition", "PUT /v1/buckets/defined {\"upstream\": \"http://127.0.0.1:1/\"}"),
    ("open_bucket", "PUT /v1/buckets/defined {\"upstream\": \"http://127.0.0.1:1/\"}"),
    ("clear_bucket", "PUT /v1/buckets/defined {\"upstream\": \"http://127.0.0.1:1/\"}"),
    ("suspend_bucket", "DELETE /v1/buckets/{bucket}"),
    ("begin_deletion", "DELETE /v1/buckets/{bucket}"),
    ("close_bucket", "DELETE /v1/buckets/{bucket}"),
    ("delete_definition", "DELETE /v1/buckets/{bucket}"),
    ("reopen_bucket", "POST /v1/buckets/{abandoned}/jobs {}"),
    ("deletion_is_decided", "POST /v1/buckets/{abandoned}/jobs {}"),
];

const BUCKETS: &str = r#"
[defaults]
capacity = 100000
[buckets]
b.upstream = "http://127.0.0.1:1/"
b.fair.max_in_flight = 100000
other.upstream = "http://127.0.0.1:1/"
list = { upstream = "http://127.0.0.1:1/", kind = "list" }
[define]
upstreams = ["http://127.0.0.1:1"]
allow_private = true
"#;

/// What a caller is reported.
#[derive(Debug, PartialEq)]
pub enum ErrorAnswer {
    AsEver,
    Problem(u16, String, Option<String>),
}

impl ErrorAnswer {
    pub fn by(answer: &ClientResponse) -> Self {
        if answer.status < 300 {
            return Self::AsEver;
        }
        let outcome = answer.json()["outcome"].as_str().map(str::to_owned);
        Self::Problem(answer.status, answer.text("code"), outcome)
    }

    fn store(status: u16, code: &str, outcome: &str) -> Self {
        Self::Problem(status, code.to_owned(), Some(outcome.to_owned()))
    }

    /// What must be reported to a request with that method when the call of that name meets that fault.
    pub fn expected(name: &str, fault: ProxyFault, method: &Method) -> Self {
        match Self::expected_of_write(name, fault) {
            Self::Problem(status, code, _) if method.is_safe() => Self::Problem(status, code, None),
            answer => answer,
        }
    }

    fn expected_of_write(name: &str, fault: ProxyFault) -> Self {
        let is_script = SCRIPTS.contains(&name);
        let ProxyFault::Error(error) = fault else {
            // A lost answer to a submission is asked for again, under the same token.
            return if name == "admit" { Self::AsEver } else { Self::store(503, "store_unavailable", "unknown") };
        };
        match error.split(' ').next().expect("a code") {
            "NOSCRIPT" if is_script => Self::AsEver,
            "OOM" => Self::store(507, "store_full", "not_stored"),
            "LOADING" | "READONLY" | "BUSY" | "MISCONF" | "NOAUTH" | "NOPERM" | "WRONGPASS" | "MOVED" | "ASK"
            | "CLUSTERDOWN" | "MASTERDOWN" | "NOREPLICAS" | "TRYAGAIN" | "UNBLOCKED" => {
                Self::store(503, "store_unavailable", "not_stored")
            }
            "WRONGTYPE" if OF_EMPTY.contains(&name) => Self::AsEver,
            // Anything else may come out of the middle of a script.
            _ if is_script => Self::store(503, "store_unavailable", "unknown"),
            _ => Self::store(503, "store_unavailable", "not_stored"),
        }
    }
}

/// Scripts that are called here for buckets without jobs, whose key is free for either kind: they are called again.
const OF_EMPTY: [&str; 5] = ["cancel_many", "purge", "group_dead", "list_dead", "replay"];

pub struct Harness {
    service: Service,
    pub proxy: RedisFaultProxy,
    pub intake: Process,
    b: Bucket,
    other: Bucket,
}

impl Harness {
    pub async fn start() -> Self {
        let service = Service::new(BUCKETS).await;
        let proxy = RedisFaultProxy::before(&service.redis).await;
        let intake = service.role("intake", &[&format!("redis.url={}", proxy.url())]).await;
        let roomy = |name| BucketSettings { capacity: 100_000, ..buckets::settings(name) };
        let b = buckets::open(&service.redis, roomy("b")).await;
        let other = buckets::open(&service.redis, roomy("other")).await;
        Self { service, proxy, intake, b, other }
    }

    /// A job that has died, of the other bucket, by its own way to Redis.
    async fn dead(&self) -> JobId {
        let replica = join(&self.other, "r").await;
        self.other.purge().await.expect("Redis answers");
        self.other.resume().await.expect("Redis answers");
        let id = submit(&self.other, buckets::job("dead")).await.id;
        settle(&replica, take_one(&replica).await, buried("no luck")).await;
        replica.leave().await.expect("Redis answers");
        id
    }

    /// A service without rules, as soon as it can be.
    async fn register(&self, service: &str) {
        let client = self.intake.client();
        let path = format!("/v1/services/{service}/rules");
        until("a service is registered", async || {
            let put = client.call(client.request(Method::PUT, &path), r#"{"policies": []}"#);
            put.await.expect("an answer").status == 200
        })
        .await;
    }

    /// A schedule of that period, as soon as it can be.
    async fn schedule(&self, name: &str, every: &str) {
        let client = self.intake.client();
        let (path, body) = (format!("/v1/buckets/b/schedules/{name}"), json!({"every": every, "job": {"body": 1}}));
        until("a schedule is defined", async || {
            let put = client.call(client.request(Method::PUT, &path), body.to_string());
            put.await.expect("an answer").status == 200
        })
        .await;
    }

    /// A bucket over the API, as soon as it can be.
    async fn define(&self, name: &str) {
        let client = self.intake.client();
        let path = format!("/v1/buckets/{name}");
        until("a bucket is defined", async || {
            let put = client.call(client.request(Method::PUT, &path), r#"{"upstream": "http://127.0.0.1:1/"}"#);
            put.await.expect("an answer").status < 300
        })
        .await;
    }

    /// A bucket over the API, whose deletion was stopped long ago, before it was decided.
    async fn abandon(&self, name: &str) {
        self.define(name).await;
        let mut known = KnownDefinitions::default();
        known.follow(self.service.store()).await.expect("Redis answers");
        let definition = known.get(name).expect("a definition");
        let bucket = Bucket::defined(self.service.store().clone(), buckets::settings(name), definition.incarnation);
        let suspended = bucket.suspend(definition.version, true).await;
        assert!(matches!(suspended, Ok(SuspendResult::Done(_))), "{suspended:?}");
        self.service.redis::<u8>(&format!("HSET dripfeed:{{{name}}}:control suspended 1")).await;
    }

    /// The call, with new jobs where it names any.
    pub async fn prepared(&self, call: &str) -> (Method, String, String) {
        let mut call = call.to_owned();
        if call.contains("{waiting}") || call.contains("{ended}") {
            let id = submit(&self.b, buckets::job("x")).await.id;
            if call.contains("{ended}") {
                self.b.cancel(id).await.expect("Redis answers");
            }
            call = call.replace("{waiting}", &id.to_string()).replace("{ended}", &id.to_string());
        }
        if call.contains("{dead}") {
            call = call.replace("{dead}", &self.dead().await.to_string());
        }
        if call.contains("{service}") {
            self.register("till").await;
            call = call.replace("{service}", "till");
        }
        if call.contains("{schedule}") {
            self.schedule("yearly", "366d").await;
            call = call.replace("{schedule}", "yearly");
        }
        if call.contains("{bucket}") {
            self.define("brief").await;
            call = call.replace("{bucket}", "brief");
        }
        if call.contains("{abandoned}") {
            self.abandon("abandoned").await;
            call = call.replace("{abandoned}", "abandoned");
        }
        let mut words = call.splitn(3, ' ').map(str::to_owned);
        let method = words.next().expect("a method").parse().expect("a method");
        (method, words.next().expect("a path"), words.next().unwrap_or_default())
    }

    pub async fn ask(&self, client: &Client, (method, path, body): (Method, String, String)) -> ClientResponse {
        client.call(client.request(method, &path), body).await.expect("an answer")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_to_callers_are_true() {
    let harness = Harness::start().await;
    let client = harness.intake.client();
    let (begun, mut wrong, mut accepted) = (Instant::now(), Vec::new(), 0);
    for (name, call) in CALLS {
        // So that each script's name is known at the proxy.
        let as_ever = harness.ask(&client, harness.prepared(call).await).await;
        assert!(as_ever.status < 300, "{name}: {as_ever:?}");
        accepted += u64::from(name == "admit");
        for fault in faults() {
            let prepared = harness.prepared(call).await;
            let before = harness.proxy.all_calls();
            harness.proxy.plan(name, fault, 1);
            let expected = ErrorAnswer::expected(name, fault, &prepared.0);
            let answer = ErrorAnswer::by(&harness.ask(&client, prepared).await);
            assert!(harness.proxy.has_done(name), "{call} doesn't call {name}");
            if answer != expected {
                wrong.push(format!("{name} {fault:?}: {answer:?}, expected {expected:?}"));
            }
            accepted += u64::from(name == "admit" && answer == ErrorAnswer::AsEver);
            works_again(&harness, &client, call).await;
            accepted += u64::from(name == "admit");
            let asked = harness.proxy.all_calls() - before;
            assert!(asked < 100, "{name} {fault:?}: Redis was asked {asked} times");
        }
        if name == "admit" {
            assert_eq!(harness.service.level("b").await, accepted, "each 202 is one job, and nothing else is");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let log = harness.intake.log();
    assert!(!log.contains("panicked"), "{log}");
    // What operators do is logged once each, and nobody is slowed down by it.
    let lines = log.lines().filter(|line| !line.contains("audit")).count();
    assert!(lines <= 20 + most_lines(begun.elapsed().as_secs()), "{lines} lines in {:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ticks_go_on_whatever_redis_answers() {
    let harness = Harness::start().await;
    harness.schedule("often", "1s").await;
    for name in ["due_schedules", "admit", "schedule_changes"] {
        for fault in faults().step_by(7) {
            until("the script is known", async || harness.proxy.calls(name) > 0).await;
            harness.proxy.plan(name, fault, 1);
            until("it has met the fault", async || harness.proxy.has_done(name)).await;
            let before = harness.service.level("b").await;
            until("a later tick has its job", async || harness.service.level("b").await > before).await;
        }
    }
    let body = |entry: &(String, Vec<String>)| entry.1.join(" ");
    let jobs: Vec<(String, Vec<String>)> = harness.service.redis("XRANGE dripfeed:{b}:jobs - +").await;
    let ticks: std::collections::BTreeSet<String> = jobs.iter().map(body).collect();
    assert_eq!(ticks.len(), jobs.len(), "each has its time in a header");
    assert!(!harness.intake.log().contains("panicked"), "{}", harness.intake.log());
}

/// Submits a job, and waits for its outcome.
async fn wait_for_outcome(harness: &Harness, seconds: u64) -> ClientResponse {
    let client = harness.intake.client();
    let request = client.request(Method::POST, "/v1/buckets/b/jobs").header("prefer", format!("wait={seconds}"));
    client.call(request, "x").await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_wait_for_the_outcome_still_accepts_the_job() {
    let harness = Harness::start().await;
    assert_eq!(wait_for_outcome(&harness, 1).await.status, 202);
    let client = harness.intake.client();
    for fault in faults() {
        // After a fault before, the intake connects again.
        works_again(&harness, &client, "GET /v1/buckets/b").await;
        harness.proxy.plan("await_outcome", fault, 1);
        let answer = wait_for_outcome(&harness, 1).await;
        assert_eq!(answer.status, 202, "{fault:?}: {answer:?}");
        assert!(harness.proxy.has_done("await_outcome"), "{fault:?}");
    }
    assert_eq!(harness.service.level("b").await, 1 + faults().count() as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_caller_is_woken_and_does_not_poll() {
    let harness = Harness::start().await;
    let replica = join(&harness.b, "r").await;
    let mut looks = Vec::new();
    for number in 0..5 {
        if number == 4 {
            // A message that is lost delays the answer, and no more.
            let killed: u64 = harness.service.redis("CLIENT KILL TYPE pubsub").await;
            assert_eq!(killed, 2, "one connection of the intake, and one of the replica, which waits for jobs");
        }
        let before = harness.proxy.calls("await_outcome");
        let (answer, ()) = tokio::join!(wait_for_outcome(&harness, 30), async {
            until("somebody waits", async || harness.service.redis::<u64>("ZCARD dripfeed:{b}:notices").await == 1)
                .await;
            until("it is listened to", async || {
                harness.service.redis::<(String, u64)>("PUBSUB NUMSUB dripfeed:{b}:notices").await.1 == 2 || number == 4
            })
            .await;
            settle(&replica, take_one(&replica).await, buckets::DELIVERED).await;
        });
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(harness.service.redis::<u64>("ZCARD dripfeed:{b}:notices").await, 0);
        looks.push(harness.proxy.calls("await_outcome") - before);
    }
    // One that registers, one when the channel is listened to, and one that finds the outcome; periodically one
    // besides.
    assert!(looks[1..4].iter().all(|looks| *looks <= 5), "{looks:?}");
}

async fn works_again(harness: &Harness, client: &Client, call: &str) {
    let begun = Instant::now();
    loop {
        let answer = harness.ask(client, harness.prepared(call).await).await;
        if answer.status < 300 {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{call}: {answer:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Submits until the time is over; how many were answered, none of them well.
async fn in_vain(client: Client, time: Duration) -> u64 {
    let (begun, mut asked) = (Instant::now(), 0);
    while begun.elapsed() < time {
        let answer = client.submit("b", "x").await.expect("an answer");
        assert!(matches!(answer.status, 503 | 507), "{answer:?}");
        assert!(answer.headers.contains_key("retry-after"), "{answer:?}");
        asked += 1;
    }
    asked
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_that_stays_makes_no_storm() {
    let harness = Harness::start().await;
    let client = harness.intake.client();
    works_again(&harness, &client, CALLS[0].1).await;
    let mut level = harness.service.level("b").await;
    for fault in [
        ProxyFault::Error("NOPERM this user has no permissions to run the command"),
        ProxyFault::Error("MISCONF Errors writing to the AOF file: No space left on device"),
        ProxyFault::Error("OOM command not allowed when used memory > 'maxmemory'."),
        ProxyFault::Error("READONLY You can't write against a read only replica."),
        ProxyFault::Error("ERR something that no version said before"),
        ProxyFault::Drop,
        ProxyFault::Garbage,
    ] {
        let (calls, lines, begun) =
            (harness.proxy.calls("admit"), harness.intake.log().lines().count(), Instant::now());
        harness.proxy.plan("admit", fault, u64::MAX);
        let asked: u64 = join_all((0..8).map(|_| in_vain(client.clone(), Duration::from_secs(2)))).await.iter().sum();
        let (calls, lines) = (harness.proxy.calls("admit") - calls, harness.intake.log().lines().count() - lines);
        let seconds = begun.elapsed().as_secs() + 1;
        // A submission asks once; of a lost answer two batches ask again, every 50 ms.
        assert!(calls <= asked + 50 * seconds, "{fault:?}: {calls} calls for {asked} submissions in {seconds} s");
        assert!(lines <= most_lines(seconds), "{fault:?}: {lines} lines in {seconds} s:\n{}", harness.intake.log());
        harness.proxy.behave("admit");
        works_again(&harness, &client, CALLS[0].1).await;
        let now = harness.service.level("b").await;
        // One worked again; of what was answered `unknown`, a batch for each call that was carried out.
        assert!(now > level && (fault == ProxyFault::Garbage || now == level + 1), "{fault:?}: {level}, then {now}");
        level = now;
    }
    assert!(!harness.intake.log().contains("panicked"), "{}", harness.intake.log());
}

/// It is asked periodically, without a request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_of_services_are_followed_all_the_same() {
    let harness = Harness::start().await;
    let begun = Instant::now();
    harness.register("before").await;
    for (number, fault) in faults().enumerate() {
        harness.proxy.plan("heartbeat", fault, 1);
        harness.proxy.done("heartbeat").await;
        harness.register(&format!("after-{number}")).await;
    }
    let log = harness.intake.log();
    assert!(!log.contains("panicked"), "{log}");
    assert!(log.lines().count() <= most_lines(begun.elapsed().as_secs()), "{log}");
}

/// As the rules.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn definitions_of_buckets_are_followed_all_the_same() {
    let harness = Harness::start().await;
    let begun = Instant::now();
    harness.define("before").await;
    for (number, fault) in faults().enumerate() {
        harness.proxy.plan("changed_definitions", fault, 1);
        harness.proxy.done("changed_definitions").await;
        harness.define(&format!("after-{number}")).await;
    }
    assert_eq!(harness.intake.client().submit("before", "x").await.expect("an answer").status, 202);
    let log = harness.intake.log();
    assert!(!log.contains("panicked"), "{log}");
    let lines = log.lines().filter(|line| !line.contains("audit")).count();
    assert!(lines <= most_lines(begun.elapsed().as_secs()), "{log}");
}

/// A caller that starts one may get no answer; what is started comes to its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replays_go_on_all_the_same() {
    const AT_ONCE: usize = 8;
    let harness = Harness::start().await;
    let client = harness.intake.client();
    let path = "/v1/buckets/other/dead/replays";
    for faults in faults().collect::<Vec<_>>().chunks(AT_ONCE) {
        let dead = harness.dead().await;
        for fault in faults {
            harness.proxy.plan("advance_replay", *fault, 1);
            client.post(path, "").await.expect("an answer");
            harness.proxy.done("advance_replay").await;
        }
        until("all replays are done", async || {
            let list = client.get(path).await.expect("an answer");
            list.status == 200 && list.json()["items"].as_array().is_some_and(|all| all.iter().all(is_done))
        })
        .await;
        let gone = client.get(&format!("/v1/buckets/other/dead/{dead}")).await.expect("an answer");
        assert_eq!(gone.status, 404, "{gone:?}");
    }
    assert!(!harness.intake.log().contains("panicked"), "{}", harness.intake.log());
}

fn is_done(replay: &Value) -> bool {
    replay["state"] == "done"
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_is_not_ready_while_redis_refuses_to_serve() {
    let harness = Harness::start().await;
    let client = harness.intake.client();
    until_ready(&client, true).await;
    for (fault, says) in [
        (ProxyFault::Error("LOADING Redis is loading the dataset in memory"), "doesn't answer"),
        (ProxyFault::Drop, "doesn't answer"),
        (ProxyFault::Error("NOPERM this user has no permissions to run the 'evalsha' command"), "denies access"),
        (ProxyFault::Error("READONLY You can't write against a read only replica."), "refuses writes"),
        (ProxyFault::Error("NOREPLICAS Not enough good replicas to write."), "refuses writes"),
        (ProxyFault::Error("MISCONF Errors writing to the AOF file: No space left on device"), "refuses writes"),
    ] {
        harness.proxy.plan("write_access", fault, u64::MAX);
        let refused = until_ready(&client, false).await;
        let problem = refused.json();
        assert_eq!(problem["code"], "store_unavailable", "{fault:?}: {problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(says)), "{fault:?}: {problem}");
        harness.proxy.behave("write_access");
        until_ready(&client, true).await;
    }
}
