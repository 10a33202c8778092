use std::time::{Duration, Instant};

use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::harness::{Harness, STEADY_LEASE};
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use tokio::time::sleep;

use crate::rows::Order;

const WHAT: &str = "maxmemory reached";
/// An attempt's time limit, and time to settle it.
const SETTLES_WITHIN: Duration = Duration::from_secs(4);
const SAMPLE: Duration = Duration::from_millis(50);

pub async fn run(order: Order) -> Report {
    let mut setup = order.setup();
    setup.lease = STEADY_LEASE;
    let run = Run::begin(setup).await;
    let lasts = Duration::from_secs(if order.long { 60 } else { 6 });
    let mut wrong = Vec::new();
    for full in 0..order.faults {
        run.until_fault(full, order.faults).await;
        let refused = run.driver.answered(507);
        let free = run
            .event_log
            .fault(WHAT, Hit::Nobody, async {
                let () = run.harness.ask(&["CONFIG", "SET", "maxmemory", "1"]).await;
                let full = Instant::now();
                wrong.extend(still_held(&run.harness, SETTLES_WITHIN * order.slack()).await);
                sleep(lasts.saturating_sub(full.elapsed())).await;
                let () = run.harness.ask(&["CONFIG", "SET", "maxmemory", "0"]).await;
                Instant::now()
            })
            .await;
        if run.driver.answered(507) == refused {
            wrong.push("nobody was answered 507".to_owned());
        }
        run.recovers(free).await;
    }
    let mut report = run.finish().await;
    let duplicates = report.duplicates();
    report.must(duplicates == 0, || format!("{duplicates} calls too many"));
    report.violations.extend(wrong);
    report
}

/// What was in flight is settled also now: nothing stays claimed for so long.
async fn still_held(harness: &Harness, within: Duration) -> Option<String> {
    sleep(SETTLES_WITHIN).await;
    let begun = Instant::now();
    loop {
        let held: Vec<_> = pending(harness).await.into_iter().filter(|(_, owner, ..)| owner != "@parked").collect();
        if held.is_empty() {
            return None;
        }
        if begun.elapsed() + SETTLES_WITHIN > within {
            return Some(format!("claimed for {within:?} at maxmemory: {held:?}"));
        }
        sleep(SAMPLE).await;
    }
}

/// Id, owner, ms since it was claimed, and deliveries. No group, before the first job: nothing is claimed.
async fn pending(harness: &Harness) -> Vec<(String, String, u64, u64)> {
    let (key, idle) = (Harness::key("jobs"), SETTLES_WITHIN.as_millis().to_string());
    let pending = harness.try_to_ask(&["XPENDING", &key, "processors", "IDLE", &idle, "-", "+", "1000"]).await;
    match pending {
        Err(error) if error.code() == Some("NOGROUP") => Vec::new(),
        pending => pending.unwrap_or_else(|error| panic!("{error}")),
    }
}
