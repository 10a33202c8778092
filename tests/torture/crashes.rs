use std::collections::BTreeSet;
use std::time::Duration;

use dripfeed_job::JobId;
use dripfeed_tests::torture::chronicle::Hit;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use dripfeed_tests::torture::stage::BUCKET;
use dripfeed_tests::torture::trap::{Deed, Step};
use futures::future::join_all;
use http::Method;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::rows::Order;

const WHAT: &str = "crash at a step";
/// For a step to come: it does while there is load, and what the others left behind.
const COMES_WITHIN: Duration = Duration::from_secs(5);
/// It doesn't when the process is killed on the way there, for somebody else's step.
const TRIES: u32 = 5;

const OF_CALLS: [Step; 3] = [Step::BeforeSend, Step::AfterSend, Step::MidAnswer];
const OF_PROCESSORS: [&str; 6] = ["join", "take", "settle", "beat", "recover", "strays"];
const OF_INTAKES: [&str; 2] = ["admit", "cancel"];

fn around(scripts: &[&'static str]) -> impl Iterator<Item = Step> {
    scripts.iter().flat_map(|script| [Step::Before(script), Step::After(script)])
}

/// `faults` at each step.
pub async fn run(order: Order) -> Report {
    let mut setup = order.setup();
    setup.lease = Duration::from_millis(1500);
    setup.far_proxies = true;
    let mut run = Run::begin(setup).await;
    let rounds = 0..order.faults;
    let steps: Vec<Step> = rounds.flat_map(|_| around(&OF_PROCESSORS).chain(OF_CALLS)).collect();
    let (steps, missed) = (Mutex::new(steps), Mutex::new(BTreeSet::new()));
    let processors = (0..run.stage.processors.len()).map(|processor| {
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
        for _ in 0..order.faults {
            for step in around(&OF_INTAKES) {
                if step == Step::Before("cancel") || step == Step::After("cancel") {
                    cancelled.insert(crash_cancelling(&run, step).await);
                } else {
                    let sprung = run.stage.traps[0].set([(step, Deed::Kill)]);
                    run.chronicle.fault(WHAT, Hit::Nobody, timeout(COMES_WITHIN, sprung)).await.expect("load").ok();
                    run.stage.intakes[0].ready().await;
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

/// Kills a processor at a step of its own; false when that step didn't come.
async fn crash(run: &Run, processor: usize, step: Step) -> bool {
    let slot = &run.stage.processors[processor];
    slot.ready().await;
    let traps = run.stage.traps_of_processor(processor, step);
    let stray = matches!(step, Step::Before("strays") | Step::After("strays"));
    // It asks for strays when the answer to a take was lost.
    let before = stray.then_some((Step::After("take"), Deed::Cut));
    let sprung = traps.set(before.into_iter().chain([(step, Deed::Kill)]));
    let provoked = async {
        match step {
            Step::Before("join") | Step::After("join") => slot.kill().await,
            // Somebody else's jobs are to be taken over.
            Step::Before("recover") | Step::After("recover") => {
                let dead = (processor + 1) % run.stage.processors.len();
                let kill = run.stage.processors[dead].kill();
                run.chronicle.fault(WHAT, Hit::Processor(dead), kill).await;
            }
            // A new connection is made when an old one is gone.
            Step::BeforeSend => run.stage.far_proxies[processor].links().iter().for_each(|link| link.cut()),
            _ => {}
        }
        timeout(COMES_WITHIN, sprung).await.is_ok_and(|sprung| sprung.is_ok())
    };
    let crashed = run.chronicle.fault(WHAT, Hit::Processor(processor), provoked).await;
    if !crashed {
        traps.set([]);
    }
    crashed
}

/// Kills an intake that cancels a job; the job is cancelled all the same, at once or when it is asked for again.
async fn crash_cancelling(run: &Run, step: Step) -> JobId {
    let [steady, trapped] = [1, 0].map(|intake| &run.stage.intakes[intake]);
    trapped.ready().await;
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
    let sprung = run.stage.traps[0].set([(step, Deed::Kill)]);
    let doomed = trapped.client().expect("it is ready");
    let (cancelled, sprung) = run
        .chronicle
        .fault(WHAT, Hit::Nobody, async {
            tokio::join!(doomed.call(doomed.request(Method::DELETE, &job), ""), timeout(COMES_WITHIN, sprung))
        })
        .await;
    assert!(cancelled.is_err() && sprung.is_ok(), "the intake lived: {cancelled:?}");
    let state = async || client.get(&job).await.expect("an answer").text("state");
    if state().await != "cancelled" {
        let again = client.call(client.request(Method::DELETE, &job), "").await.expect("an answer");
        assert_eq!(again.status, 204, "{again:?}");
    }
    assert_eq!(state().await, "cancelled");
    trapped.ready().await;
    id.parse().expect("an id")
}
