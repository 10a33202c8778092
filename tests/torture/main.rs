//! The fault suite: real processes and a real Redis under load, one row for each fault, and all invariants after each.
//!
//! `cargo test --test torture` runs all rows at the volume of `make test`; `make torture` runs them long, in a release
//! build, and writes a report. A row's name, or a part of it, as an argument runs that one. For nextest each row is a
//! test.

mod arguments;
mod report_files;
mod rows;
/// Whether the suite finds the bugs that are planted.
mod selftest;

/// Buckets that are created, replaced and deleted while processes are killed.
mod buckets_redefined;
/// Redis' clock stepped while throttled.
mod clocks_stepped;
/// Connections cut, delayed, reset; replies lost.
mod connections_cut;
/// Processes killed before and after every script and every step of a call.
mod crashes;
/// Intakes killed before and after every script of limits and of the registry of rules.
mod crashes_of_limits;
/// Groups with their own paces, over kills, late replies and stepped clocks.
mod groups_paced;
/// Intakes killed.
mod intakes_killed;
/// Sentinel: masters that die, hang or step down.
mod masters_replaced;
/// Masters that die or step down while what they say comes late.
mod masters_replaced_late;
/// No memory left in Redis.
mod memory_full;
/// A processor killed while there is no memory left in Redis.
mod memory_full_killed;
/// No memory left in Redis, and what is to be repaired meanwhile.
mod memory_full_repaired;
/// Redis Cluster: nodes that die, hang or step down.
mod nodes_replaced;
/// Load alone.
mod none;
/// The process that hands outcomes over killed; Redis full.
mod outcomes_once;
/// What can't be read, and what kills its processor.
mod poison;
/// Processors killed.
mod processors_killed;
/// Processors suspended (SIGSTOP), and continued.
mod processors_stopped;
/// Intakes killed while they purge.
mod purges_killed;
/// One bucket that comes and goes.
mod redefined;
/// Redis killed, and back after up to ten seconds.
mod redis_killed;
/// Redis suspended (SIGSTOP), and continued.
mod redis_stopped;
/// The stream deleted, all of Redis, or all it had on the disk.
mod redis_wiped;
/// All processes asked to end, one after the other.
mod replaced;
/// Jobs that can't be settled beside others.
mod settles_refused;
/// Redis Cluster: the bucket's slot moved.
mod slots_moved;
/// Schedules that tick every second, over killed intakes and stepped clocks.
mod ticks_once;
/// Groups that take turns, over kills, stepped clocks and a deleted index.
mod turns_taken;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser as _;
use dripfeed_tests::machine;
use dripfeed_tests::torture::report::{HEAD, Report};
use futures::future::join_all;
use tokio::sync::Semaphore;

use arguments::Arguments;
use rows::{Order, ROWS, Row};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let chosen: Vec<&Row> = ROWS.iter().filter(|row| arguments.wants(row.name)).collect();
    if arguments.list {
        chosen.iter().for_each(|row| println!("{}: test", row.name));
        return ExitCode::SUCCESS;
    }
    machine::share().await;
    if arguments.selftest {
        return selftest::run(&arguments).await;
    }
    println!("\nrunning {} rows; TORTURE_SEED={} runs the same jobs again", chosen.len(), arguments.seed);
    let lanes = Arc::new(Semaphore::new(arguments.lanes()));
    let reports = join_all(chosen.iter().map(|row| run(row, &arguments, Arc::clone(&lanes)))).await;

    println!("\n{HEAD}");
    for (row, report) in chosen.iter().zip(&reports) {
        println!("{}", report.line(row.about));
    }
    let failed = reports.iter().filter(|report| !report.violations.is_empty()).count();
    if let Some(folder) = &arguments.report {
        report_files::write(folder, &arguments, &chosen, reports).expect("the report can be written");
    }
    println!("\ntest result: {} rows passed; {failed} failed", chosen.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(101) }
}

/// A row, on as many harnesses at once as it is to be split into.
async fn run(row: &'static Row, arguments: &Arguments, lanes: Arc<Semaphore>) -> Report {
    let orders = Order::of(row, arguments);
    let parts = orders.into_iter().map(|order| {
        let lanes = Arc::clone(&lanes);
        async move {
            let _lane = lanes.acquire().await.expect("lanes stay open");
            // A panic ends this row alone.
            tokio::spawn((row.run)(order)).await.unwrap_or_else(|error| Report {
                violations: vec![format!("it panicked: {}", told(error))],
                ..Report::default()
            })
        }
    });
    let begun = Instant::now();
    let report = join_all(parts).await.into_iter().fold(Report::default(), Report::and);
    let verdict = if report.violations.is_empty() { "ok" } else { "FAILED" };
    println!("row {} ... {verdict} ({} s)", row.name, begun.elapsed().as_secs());
    for violation in report.violations.iter().take(20) {
        println!("    {violation}");
    }
    report
}

fn told(error: tokio::task::JoinError) -> String {
    let panic = error.into_panic();
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
}
