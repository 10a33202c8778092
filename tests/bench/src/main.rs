//! `make bench`: measures dripfeed and the floor alternately in one run. Redis and the measured roles share one core;
//! load, upstream and this program have the other one.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

mod arguments;
mod client;
mod event_stream;
mod figure;
mod goals;
mod load;
mod machine;
mod peers;
mod private_redis;
mod report;
mod role;
mod rows;
mod settings;
mod side;
mod suite;
mod testbed;
mod trials;
mod upstream;
mod volume;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Parser as _;
use tokio::signal::unix::{SignalKind, signal};

use arguments::Arguments;
use figure::Figure;
use suite::Suite;
use testbed::Testbed;

/// Timeout of a row.
const ROW_LIMIT: Duration = Duration::from_secs(300);
/// Maximum percentage of the time that others may use the load's core.
const QUIET: f64 = 2.0;

// A single thread with a separate core, so that load and upstream never move to another one.
#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let (mut interrupted, mut terminated) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    // Dropped on a signal, so that all processes end.
    tokio::select! {
        ended = measure(&arguments) => ended,
        _ = interrupted.recv() => anyhow::bail!("interrupted"),
        _ = terminated.recv() => anyhow::bail!("terminated"),
    }
}

async fn measure(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let (suite, rows) = (arguments.suite(), arguments.rows()?);
    let conditions = machine::pin()?;
    println!("{conditions}, {} volume", arguments.volume().name);
    let bed = Testbed::start(arguments.volume()).await?;
    let (mut figures, mut failed) = (Vec::new(), false);
    for row in rows {
        let (row_begun, waited) = (Instant::now(), machine::waited()?);
        println!("\n{}", row.about);
        let ran = tokio::time::timeout(ROW_LIMIT, (row.run)(&bed)).await;
        match ran.context("it takes too long").and_then(|ran| ran) {
            Ok(measured) => {
                measured.iter().for_each(|figure: &Figure| println!("  {figure}"));
                figures.extend(measured);
            }
            Err(error) => {
                println!("  FAILED: {error:#}");
                failed = true;
            }
        }
        let waited = machine::waited()?.saturating_sub(waited);
        println!("  ({:.0} s; {})", row_begun.elapsed().as_secs_f64(), disturbance(waited, row_begun.elapsed()));
    }
    let disturbance = disturbance(machine::waited()?, begun.elapsed());
    println!("\nmeasured in {:.0} s; {disturbance}", begun.elapsed().as_secs_f64());
    let redis = bed.redis.version().await?;
    let peers = if suite == Suite::Peers { Some(peers::versions()?) } else { None };
    let report = report::Report { suite, conditions, disturbance, redis, peers, volume: bed.volume.name, figures };
    println!("\n{}", report.table());
    if let Some(folder) = &arguments.report {
        report.write(folder).with_context(|| format!("can't write the report to {}", folder.display()))?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// How much others have used the load's core.
fn disturbance(waited: Duration, elapsed: Duration) -> String {
    let share = waited.as_secs_f64() / elapsed.as_secs_f64() * 100.0;
    let advice = if share > QUIET { ", so measure again on a quiet machine" } else { "" };
    format!("others had the core of the load for {share:.1} % of the time{advice}")
}
