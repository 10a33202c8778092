use std::collections::BTreeSet;
use std::time::Duration;

use dripfeed_job::JobId;
use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::service::until;
use dripfeed_tests::torture::breakpoint::{BreakpointAction, Step};
use dripfeed_tests::torture::driver::answered;
use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::harness::{BESIDE, BUCKET};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use futures::future::join_all;
use http::Method;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::rows::Order;

pub const WHAT: &str = "crash at a step";
/// For a step that is sure to come, however slow the machine is.
pub const COMES_WITHIN: Duration = Duration::from_mins(1);
/// For a processor's step to come: it does while there is load, and what the others left behind.
const OF_PROCESSORS_WITHIN: Duration = Duration::from_secs(10);
/// It doesn't when the process is killed on the way there, for somebody else's step.
const TRIES: u32 = 5;

const OF_CALLS: [Step; 3] = [Step::BeforeSend, Step::AfterSend, Step::MidAnswer];
const OF_PROCESSORS: [&str; 6] = ["join", "take", "settle", "beat", "recover", "orphaned_claims"];
const OF_INTAKES: [&str; 2] = ["admit", "cancel"];

/// What operators ask of an intake, in a bucket beside, where no job of the run is.
struct Operation {
    script: &'static str,
    method: Method,
    /// Below the bucket; `LETTER` stands for a dead letter.
    path: &'static str,
    body: &'static str,
    /// The answers when it is asked again: it was done, or is done now.
    again: &'static [u16],
}

static OF_OPERATORS: [Operation; 7] = [
    Operation { script: "census", method: Method::GET, path: "", body: "", again: &[200] },
    Operation { script: "list", method: Method::GET, path: "/jobs", body: "", again: &[200] },
    Operation { script: "find", method: Method::GET, path: "/jobs/1-1", body: "", again: &[404] },
    Operation {
        script: "apply_overrides",
        method: Method::PATCH,
        path: "",
        body: r#"{"capacity":500}"#,
        again: &[200],
    },
    Operation { script: "replay", method: Method::POST, path: "/dead/LETTER/replay", body: "", again: &[202, 404] },
    Operation { script: "forget", method: Method::DELETE, path: "/dead/LETTER", body: "", again: &[204, 404] },
    Operation { script: "purge", method: Method::POST, path: "/purge", body: "", again: &[200] },
];
/// They keep nothing in mind from one request to the next, so fewer rounds do.
const ROUNDS_OF_OPERATORS: u32 = 5;

/// Whether this may be what is heard of an intake that dies: on a slow machine its wait for Redis may end before it
/// does.
pub fn may_be_dying(answer: &Result<ClientResponse, String>) -> bool {
    answer.as_ref().map_or(true, |answer| answer.status == 503)
}

pub fn around(scripts: &[&'static str]) -> impl Iterator<Item = Step> {
    scripts.iter().flat_map(|script| [Step::Before(script), Step::After(script)])
}

/// `faults` at each step.
pub async fn run(order: Order) -> Report {
    let mut setup = order.setup();
    // Short, so that there is much to recover; but a slow machine lets none look dead that then is killed before it
    // knows.
    setup.lease = Duration::from_millis(if order.long { 1500 } else { 4000 });
    setup.far_proxies = true;
    setup.beside = true;
    let mut run = Run::begin(setup).await;
    let rounds = 0..order.faults;
    let steps: Vec<Step> = rounds.flat_map(|_| around(&OF_PROCESSORS).chain(OF_CALLS)).collect();
    let (steps, missed) = (Mutex::new(steps), Mutex::new(BTreeSet::new()));
    let processors = (0..run.harness.processors.len()).map(|processor| {
        let (run, steps, missed) = (&run, &steps, &missed);
        async move {
            loop {
                let Some(step) = steps.lock().await.pop() else { return };
                if !crashes(run, processor, step).await {
                    missed.lock().await.insert(format!("{step:?}"));
                }
            }
        }
    });
    let intakes = async {
        let mut cancelled = BTreeSet::new();
        for round in 0..order.faults {
            for operation in OF_OPERATORS.iter().filter(|_| round % ROUNDS_OF_OPERATORS == 0) {
                for step in around(&[operation.script]) {
                    crash_operating(&run, operation, step).await;
                }
            }
            for step in around(&OF_INTAKES) {
                if step == Step::Before("cancel") || step == Step::After("cancel") {
                    cancelled.insert(crash_cancelling(&run, step).await);
                } else {
                    let hit = run.harness.breakpoints[0].set([(step, BreakpointAction::Kill)]);
                    run.event_log.fault(WHAT, Hit::Nobody, timeout(COMES_WITHIN, hit)).await.expect("load").ok();
                    run.harness.intakes[0].ready().await;
                }
            }
        }
        cancelled
    };
    let (_, cancelled) = tokio::join!(join_all(processors), intakes);
    run.lenience.strangers = cancelled;
    let mut report = run.finish().await;
    let missed = missed.into_inner();
    report.must(missed.is_empty(), || format!("steps that did not come in time: {missed:?}"));
    report
}

async fn crashes(run: &Run, processor: usize, step: Step) -> bool {
    for _ in 0..TRIES {
        if crash(run, processor, step).await {
            return true;
        }
    }
    false
}

/// Kills a processor at its own step; false when that step didn't come.
async fn crash(run: &Run, processor: usize, step: Step) -> bool {
    let slot = &run.harness.processors[processor];
    slot.ready().await;
    let breakpoints = run.harness.breakpoints_of_processor(processor, step);
    let stray = matches!(step, Step::Before("orphaned_claims") | Step::After("orphaned_claims"));
    // It asks for strays when the answer to a take was lost.
    let before = stray.then_some((Step::After("take"), BreakpointAction::Cut));
    let hit = breakpoints.set(before.into_iter().chain([(step, BreakpointAction::Kill)]));
    let provoked = async {
        match step {
            Step::Before("join") | Step::After("join") => slot.kill().await,
            // Somebody else's jobs are to be taken over.
            Step::Before("recover") | Step::After("recover") => {
                let dead = (processor + 1) % run.harness.processors.len();
                let kill = run.harness.processors[dead].kill();
                run.event_log.fault(WHAT, Hit::Processor(dead), kill).await;
            }
            // A new connection is made when an old one is gone.
            Step::BeforeSend => run.harness.far_proxies[processor].links().iter().for_each(|link| link.cut()),
            _ => {}
        }
        timeout(OF_PROCESSORS_WITHIN, hit).await.is_ok_and(|hit| hit.is_ok())
    };
    let crashed = run.event_log.fault(WHAT, Hit::Processor(processor), provoked).await;
    if !crashed {
        breakpoints.set([]);
    }
    crashed
}

/// Kills an intake that cancels a job; the job is cancelled all the same, at once or when it is asked for again.
async fn crash_cancelling(run: &Run, step: Step) -> JobId {
    let [steady, victim] = [1, 0].map(|intake| &run.harness.intakes[intake]);
    victim.ready().await;
    let client = steady.client().expect("nobody kills this one");
    let path = format!("/v1/buckets/{BUCKET}/jobs");
    let handed_in = loop {
        let request = client.request(Method::POST, &path).header("dripfeed-delay", "1h");
        let answer = client.call(request, "to be cancelled").await.expect("an answer");
        if answer.status == 202 {
            break answer;
        }
    };
    let id = handed_in.text("id");
    let job = format!("{path}/{id}");
    let hit = run.harness.breakpoints[0].set([(step, BreakpointAction::Kill)]);
    let doomed = victim.client().expect("it is ready");
    let (cancelled, hit) = run
        .event_log
        .fault(WHAT, Hit::Nobody, async {
            tokio::join!(doomed.call(doomed.request(Method::DELETE, &job), ""), timeout(COMES_WITHIN, hit))
        })
        .await;
    assert!(may_be_dying(&cancelled) && hit.is_ok(), "the intake lived: {cancelled:?}");
    let state = async || answered(|| client.get(&job)).await.text("state");
    if state().await != "cancelled" {
        let again = answered(|| client.call(client.request(Method::DELETE, &job), "")).await;
        assert_eq!(again.status, 204, "{again:?}");
    }
    assert_eq!(state().await, "cancelled");
    victim.ready().await;
    id.parse().expect("an id")
}

/// Kills an intake that an operator asks something of; asked again, another one answers as if nothing had been.
async fn crash_operating(run: &Run, operation: &Operation, step: Step) {
    let [steady, victim] = [1, 0].map(|intake| &run.harness.intakes[intake]);
    victim.ready().await;
    let (client, doomed) = (steady.client().expect("nobody kills this one"), victim.client().expect("it is ready"));
    let letter = if operation.path.contains("LETTER") { dead_letter(run, &client).await } else { String::new() };
    let path = format!("/v1/buckets/{BESIDE}{}", operation.path.replace("LETTER", &letter));
    let ask = |of: &Client| {
        let (of, request) = (of.clone(), of.request(operation.method.clone(), &path));
        let request = request.header("content-type", "application/json");
        async move { of.call(request, operation.body).await }
    };
    let hit = run.harness.breakpoints[0].set([(step, BreakpointAction::Kill)]);
    let asked = async { tokio::join!(ask(&doomed), timeout(COMES_WITHIN, hit)) };
    let (answer, hit) = run.event_log.fault(WHAT, Hit::Nobody, asked).await;
    assert!(may_be_dying(&answer) && hit.is_ok(), "{step:?}: the intake lived: {answer:?}");
    let again = answered(|| ask(&client)).await;
    assert!(operation.again.contains(&again.status), "{step:?}: {again:?}");
}

/// Has an entry buried that can't be read.
async fn dead_letter(run: &Run, client: &Client) -> String {
    let _: String = run.harness.ask(&["XADD", &format!("dripfeed:{{{BESIDE}}}:jobs"), "*", "nothing", "known"]).await;
    let path = format!("/v1/buckets/{BESIDE}/dead");
    let first = async || answered(|| client.get(&path)).await.json()["items"][0]["id"].as_str().map(str::to_owned);
    until("the entry is buried", async || first().await.is_some()).await;
    first().await.expect("nobody else deletes it")
}
