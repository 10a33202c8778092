use std::time::{Duration, Instant};

use dripfeed_tests::torture::event_log::{Hit, LoggedFault};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use tokio::time::sleep;

use crate::rows::Order;

const WHAT: &str = "connection to the upstream cut";
/// Between two faults.
const PAUSE: Duration = Duration::from_millis(40);
/// For a fault that was set on a connection to be done: it waits for bytes that pass.
const DONE: Duration = Duration::from_secs(10);

/// At a random byte, in both directions; replies lost after the command ran; delays; resets.
pub async fn run(order: Order) -> Report {
    let mut setup = order.setup();
    setup.far_proxies = true;
    let run = Run::begin(setup).await;
    let mut draw = run.jobs.draw(0, 14);
    for cut in 0..order.faults {
        run.until_fault(cut, order.faults).await;
        let far = draw.u8(0..3) == 0;
        let proxies = if far { &run.harness.far_proxies } else { &run.harness.proxies };
        let which = draw.usize(0..proxies.len());
        // Redis cut off costs no duplicate: what was settled is known by the batch's number.
        let hit = if far { Hit::Processor(which) } else { Hit::Nobody };
        let from = Instant::now();
        run.event_log.note(LoggedFault { what: WHAT, hit, from, until: from + DONE });
        let links = proxies[which].links();
        if let Some(link) = draw.choice(&links) {
            match draw.u8(0..6) {
                0 | 1 => link.cut_to_server_after(draw.usize(0..8192)),
                2 => link.cut_to_client_after(draw.usize(0..2048)),
                3 => link.lose_replies(),
                4 => link.delay(Duration::from_millis(draw.u64(1..200))),
                _ => link.reset(),
            }
            // Whatever was done to it, it doesn't stay so.
            let (link, after) = (std::sync::Arc::downgrade(link), Duration::from_millis(draw.u64(50..400)));
            tokio::spawn(async move {
                sleep(after).await;
                if let Some(link) = link.upgrade() {
                    link.cut();
                }
            });
        }
        sleep(PAUSE).await;
    }
    run.recovers(Instant::now()).await;
    run.finish().await
}
