use std::time::{Duration, Instant};

use dripfeed_store::AppendFsync;
use dripfeed_tests::torture::event_log::Hit;
use dripfeed_tests::torture::report::Report;
use dripfeed_tests::torture::run::Run;
use tokio::time::sleep;

use crate::rows::Order;

const WHAT: &str = "kill -9 Redis";
/// From when it is back until calls are made again.
const WORKS_WITHIN: Duration = Duration::from_secs(5);

pub async fn run(order: Order) -> Report {
    let mut setup = order.setup();
    // With `everysec`, what Redis acknowledges while a flush of its file is under way isn't even written yet.
    setup.server.append_fsync = AppendFsync::Always;
    let run = Run::begin(setup).await;
    let within = WORKS_WITHIN * order.slack();
    let longest = if order.long { 10_000 } else { 2000 };
    let mut draw = run.jobs.draw(0, 12);
    let mut late = Vec::new();
    for kill in 0..order.faults {
        run.until_fault(kill, order.faults).await;
        let away = Duration::from_millis(draw.u64(0..=longest));
        let mut redis = run.harness.redis.lock().await;
        run.event_log
            .fault(WHAT, Hit::Everybody, async {
                redis.server.kill().await.expect("it runs");
                sleep(away).await;
                redis.server.start_again().await.expect("it starts again");
            })
            .await;
        drop(redis);
        let took = run.recovers(Instant::now()).await;
        if took > within {
            late.push(took);
        }
    }
    let lives: u32 = run.harness.slots().map(|slot| slot.lives()).sum();
    let slots = run.harness.slots().count();
    let mut report = run.finish().await;
    report.must(late.is_empty(), || format!("it took longer than {within:?} to work again: {late:?}"));
    report.must(lives as usize == slots, || format!("{lives} processes ran in {slots} slots"));
    report
}
