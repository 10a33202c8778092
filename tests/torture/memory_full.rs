use std::time::{Duration, Instant};

use dripfeed_tests::torture::chronicle::Hit;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use dripfeed_tests::torture::stage::Stage;
use tokio::time::sleep;

use crate::rows::Order;

const WHAT: &str = "maxmemory reached";
/// An attempt's time limit, and time to settle it.
const SETTLES_WITHIN: Duration = Duration::from_secs(4);

pub async fn run(order: Order) -> Report {
    let run = Run::begin(order.setup()).await;
    let lasts = Duration::from_secs(if order.long { 60 } else { 6 });
    let mut wrong = Vec::new();
    for full in 0..order.faults {
        run.until_fault(full, order.faults).await;
        let refused = run.driver.answered(507);
        let free = run
            .chronicle
            .fault(WHAT, Hit::Nobody, async {
                let () = run.stage.ask(&["CONFIG", "SET", "maxmemory", "1"]).await;
                sleep(SETTLES_WITHIN).await;
                wrong.extend(still_held(&run.stage).await);
                sleep(lasts.saturating_sub(SETTLES_WITHIN)).await;
                let () = run.stage.ask(&["CONFIG", "SET", "maxmemory", "0"]).await;
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

/// What was in flight is settled also now.
async fn still_held(stage: &Stage) -> Option<String> {
    let idle = SETTLES_WITHIN.as_millis().to_string();
    let key = Stage::key("jobs");
    let held: Vec<(String, String, u64, u64)> =
        stage.ask(&["XPENDING", &key, "processors", "IDLE", &idle, "-", "+", "1000"]).await;
    let held: Vec<_> = held.iter().filter(|(_, owner, ..)| owner != "@parked").collect();
    (!held.is_empty()).then(|| format!("held for {SETTLES_WITHIN:?} at maxmemory: {held:?}"))
}
