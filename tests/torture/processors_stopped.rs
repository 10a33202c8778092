use std::time::{Duration, Instant};

use dripfeed_tests::proxy::MembershipReply;
use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use tokio::time::sleep;

use crate::rows::Order;

const WHAT: &str = "SIGSTOP a processor";
const LEASE: Duration = Duration::from_millis(1500);

/// For half a lease, a whole one, and three.
pub async fn run(order: Order) -> Report {
    let mut setup = order.setup();
    setup.lease = LEASE;
    let run = Run::begin(setup).await;
    let mut wrong = Vec::new();
    for stop in 0..order.faults {
        run.until_fault(stop, order.faults).await;
        let sleeper = stop as usize % run.harness.processors.len();
        let slot = &run.harness.processors[sleeper];
        let pause = [LEASE / 2, LEASE, LEASE * 3][(stop / 3 % 3) as usize];
        let woken = run
            .event_log
            .fault(WHAT, Hit::Processor(sleeper), async {
                slot.pause().await;
                sleep(pause).await;
                let woken = Instant::now();
                slot.resume().await;
                woken
            })
            .await;
        run.recovers(woken).await;
        if pause == LEASE * 3 {
            wrong.extend(settled_after_death(&run, sleeper, woken).await);
        }
    }
    let held = u64::from(run.harness.setup.concurrency) * u64::from(order.faults);
    let mut report = run.finish().await;
    let duplicates = report.duplicates();
    report.must(duplicates <= held, || format!("{duplicates} duplicates, {held} jobs may have been claimed"));
    report.violations.extend(wrong);
    report
}

/// One that slept for three leases learns that it is dead and joins again; until then nothing it asks for is settled.
async fn settled_after_death(run: &Run, sleeper: usize, woken: Instant) -> Option<String> {
    let proxy = &run.harness.proxies[run.harness.setup.intakes + sleeper];
    let begun = Instant::now();
    loop {
        let words = proxy.words();
        let mut after = words.iter().filter(|(at, _)| *at > woken).map(|(_, word)| *word);
        let settled = after
            .by_ref()
            .take_while(|word| *word != MembershipReply::Joined)
            .filter(|word| *word == MembershipReply::Settled)
            .count();
        let joined = words.iter().any(|(at, word)| *at > woken && *word == MembershipReply::Joined);
        if joined {
            return (settled > 0).then(|| format!("{settled} batches were settled by one that was declared dead"));
        }
        if begun.elapsed() > LEASE * 10 * run.harness.setup.slack {
            return Some("one that slept for three leases did not join again".to_owned());
        }
        sleep(Duration::from_millis(20)).await;
    }
}
