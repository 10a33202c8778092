use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::service::until;
use dripfeed_tests::torture::breakpoint::{BreakpointAction, Step};
use dripfeed_tests::torture::driver::answered;
use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::harness::STEADY_LEASE;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use http::Method;
use serde_json::{Value, json};
use tokio::sync::oneshot::Receiver;
use tokio::sync::oneshot::error::TryRecvError;

use crate::crashes::{COMES_WITHIN, WHAT, around};
use crate::rows::Order;

/// Far more than any run asks for.
const LIMIT: u64 = 1_000_000;
/// A limiter of each consistency, and the script that the intake dies at: one that decides, one that reports what was
/// decided before, one that returns what was taken ahead.
const LIMITERS: [(&str, &str); 3] = [("strict", "decide"), ("async", "count"), ("leased", "refund")];
/// Nothing is ever asked of its rules.
const REGISTERED: &str = "registered";

/// What the checks of a service must come to.
#[derive(Default)]
struct Checks {
    /// Allowed, and heard so.
    allowed: AtomicU64,
    /// Without an answer that says so: charged or not.
    unknown: AtomicU64,
}

/// `faults` rounds of a crash at each step.
pub async fn run(order: Order) -> Report {
    let mut setup = order.setup();
    setup.lease = STEADY_LEASE;
    let run = Run::begin(setup).await;
    let checks: [Checks; LIMITERS.len()] = Default::default();
    for round in 0..order.faults {
        run.until_fault(round, order.faults).await;
        for ((consistency, script), checks) in LIMITERS.into_iter().zip(&checks) {
            for step in around(&[script]) {
                dies_deciding(&run, consistency, step, checks).await;
            }
        }
        for step in around(&["put", "delete"]) {
            dies_registering(&run, step).await;
        }
        for step in around(&["heartbeat"]) {
            dies_within(&run, step, async |_: Client| ()).await;
        }
    }
    let mut wrong = Vec::new();
    for ((consistency, _), checks) in LIMITERS.into_iter().zip(checks) {
        let (allowed, unknown) = (checks.allowed.into_inner(), checks.unknown.into_inner());
        let used = used(&steady(&run), consistency).await;
        // What an intake has counted and not reported dies with it; of a lease, what wasn't spent is charged until it
        // expires.
        let least = if consistency == "async" { 0 } else { allowed };
        let most = if consistency == "leased" { LIMIT } else { allowed + unknown };
        if !(least..=most).contains(&used) {
            wrong.push(format!("{consistency}: {allowed} allowed, {unknown} unknown, and {used} charged"));
        }
    }
    let mut report = run.finish().await;
    report.must(wrong.is_empty(), || wrong.join("; "));
    report
}

fn steady(run: &Run) -> Client {
    run.harness.intakes[1].client().expect("nobody kills this one")
}

/// Makes the first intake repeat something until it dies at the step.
async fn dies_within<F: Future<Output = ()>>(run: &Run, step: Step, ask: impl Fn(Client) -> F) {
    let slot = &run.harness.intakes[0];
    slot.ready().await;
    let (lives, doomed) = (slot.lives(), slot.client().expect("it is ready"));
    let mut hit = run.harness.breakpoints[0].set([(step, BreakpointAction::Kill)]);
    let begun = Instant::now();
    let dying = async {
        while is_set(&mut hit) {
            assert!(begun.elapsed() < COMES_WITHIN, "{step:?} doesn't come");
            ask(doomed.clone()).await;
            tokio::task::yield_now().await;
        }
        until("it is dead", async || slot.lives() > lives).await;
    };
    run.event_log.fault(WHAT, Hit::Nobody, dying).await;
}

fn is_set(breakpoint: &mut Receiver<()>) -> bool {
    matches!(breakpoint.try_recv(), Err(TryRecvError::Empty))
}

/// Kills an intake on a decision's way; another one decides all the same.
async fn dies_deciding(run: &Run, consistency: &str, step: Step, checks: &Checks) {
    let steady = steady(run);
    register(&steady, consistency, &rules(consistency)).await;
    let returns = matches!(step, Step::Before("refund") | Step::After("refund"));
    let decide = async |doomed: Client| {
        let allowed = checks.ask(&doomed, consistency).await;
        if returns && allowed {
            // What was taken ahead is returned when the rules are gone, and taken again when they are back.
            let gone = answered(|| steady.call(steady.request(Method::DELETE, &path(consistency)), "")).await;
            assert!(matches!(gone.status, 204 | 404), "{gone:?}");
            until("the rules are gone", async || is_unknown(&doomed, consistency).await).await;
            register(&steady, consistency, &rules(consistency)).await;
        }
    };
    dies_within(run, step, decide).await;
    register(&steady, consistency, &rules(consistency)).await;
    until("the other one decides", async || checks.ask(&steady, consistency).await).await;
}

/// Kills an intake that changes rules; asked again, another one answers as if nothing had been.
async fn dies_registering(run: &Run, step: Step) {
    let steady = steady(run);
    let registers = matches!(step, Step::Before("put") | Step::After("put"));
    let rules = rules("strict");
    if !registers {
        register(&steady, REGISTERED, &rules).await;
    }
    let change = async |doomed: Client| {
        let method = if registers { Method::PUT } else { Method::DELETE };
        let request = doomed.request(method, &path(REGISTERED)).header("content-type", "application/json");
        // It dies on the way: an answer, if there is one, is that Redis says nothing.
        let answer = doomed.call(request, if registers { rules.to_string() } else { String::new() }).await;
        assert!(answer.as_ref().map_or(true, |answer| answer.status == 503), "{step:?}: the intake lived: {answer:?}");
    };
    dies_within(run, step, change).await;
    if registers {
        register(&steady, REGISTERED, &rules).await;
        assert_eq!(answered(async || steady.get(&path(REGISTERED)).await).await.json(), rules);
    } else {
        let again = answered(|| steady.call(steady.request(Method::DELETE, &path(REGISTERED)), "")).await;
        assert!(matches!(again.status, 204 | 404), "{again:?}");
    }
}

impl Checks {
    /// Whether one more was allowed.
    async fn ask(&self, client: &Client, service: &str) -> bool {
        let answer = check(client, service, 1).await;
        match answer {
            Ok(answer) if answer.status == 200 => {
                self.allowed.fetch_add(1, Ordering::SeqCst);
            }
            // An intake that has started just now learns of rules with its next heartbeat.
            Ok(answer) if answer.status == 404 => return false,
            Ok(answer) => {
                assert_eq!(answer.status, 503, "{answer:?}");
                self.unknown.fetch_add(1, Ordering::SeqCst);
                return false;
            }
            Err(_) => {
                self.unknown.fetch_add(1, Ordering::SeqCst);
                return false;
            }
        }
        true
    }
}

async fn check(client: &Client, service: &str, cost: u64) -> Result<ClientResponse, String> {
    client.post(&format!("/v1/services/{service}/check"), json!({ "cost": cost }).to_string()).await
}

async fn is_unknown(client: &Client, service: &str) -> bool {
    // One that is dead knows nothing.
    check(client, service, 0).await.map_or(true, |answer| answer.status == 404)
}

fn rules(consistency: &str) -> Value {
    let tier = json!({ "kind": "fixed", "limit": LIMIT, "period": "1d" });
    json!({ "policies": [{ "id": "all", "consistency": consistency, "tiers": [tier] }] })
}

fn path(service: &str) -> String {
    format!("/v1/services/{service}/rules")
}

async fn register(client: &Client, service: &str, rules: &Value) {
    let request = || client.request(Method::PUT, &path(service)).header("content-type", "application/json");
    let answer = answered(|| client.call(request(), rules.to_string())).await;
    assert_eq!(answer.status, 200, "{answer:?}");
}

/// What Redis has been charged for a service.
async fn used(client: &Client, service: &str) -> u64 {
    register(client, service, &rules("strict")).await;
    loop {
        let answer = check(client, service, 0).await.expect("an answer");
        if answer.status == 200 {
            let left = answer.json()["policies"][0]["tiers"][0]["remaining"].as_u64();
            return LIMIT - left.expect("a number");
        }
        assert_eq!(answer.status, 503, "{answer:?}");
    }
}
