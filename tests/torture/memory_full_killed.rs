use std::time::Instant;

use dripfeed_tests::torture::breakpoint::{BreakpointAction, Step};
use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;

use crate::memory_full_repaired::drains;
use crate::rows::Order;

const WHAT: &str = "kill -9 a processor while Redis is full";

/// It dies in the middle of a call; its jobs are recovered and called, though nothing can be written that needs memory.
pub async fn run(order: Order) -> Report {
    let run = Run::begin(order.setup()).await;
    let mut draw = run.jobs.draw(0, 16);
    let mut wrong = Vec::new();
    for kill in 0..order.faults {
        run.until_fault(kill, order.faults).await;
        let victim = draw.usize(0..run.harness.processors.len());
        run.harness.processors[victim].ready().await;
        let hit = run
            .harness
            .breakpoints_of_processor(victim, Step::AfterSend)
            .set([(Step::AfterSend, BreakpointAction::Kill)]);
        run.event_log
            .fault(WHAT, Hit::Processor(victim), async {
                let () = run.harness.ask(&["CONFIG", "SET", "maxmemory", "1"]).await;
                // Where nothing was left to call when memory ran out, nothing comes until there is room again.
                let backlog = run.harness.level().await;
                let died = async { hit.await.is_ok() };
                tokio::select! {
                    biased;
                    _ = died => {}
                    () = emptied(&run) => run.harness.processors[victim].kill().await,
                }
                wrong.extend(drains(&run.harness, backlog).await.err());
            })
            .await;
        run.harness.breakpoints_of_processor(victim, Step::AfterSend).set([]);
        let free = Instant::now();
        let () = run.harness.ask(&["CONFIG", "SET", "maxmemory", "0"]).await;
        run.recovers(free).await;
    }
    let in_flight = u64::from(run.harness.setup.concurrency) * u64::from(order.faults);
    let mut report = run.finish().await;
    let duplicates = report.duplicates();
    report.must(duplicates <= in_flight, || format!("{duplicates} duplicates, {in_flight} may have been in flight"));
    report.violations.extend(wrong);
    report
}

async fn emptied(run: &Run) {
    while run.harness.level().await > 0 {
        tokio::task::yield_now().await;
    }
}
