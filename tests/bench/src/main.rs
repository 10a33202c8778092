//! `make bench`: dripfeed beside the floor, in turns in one run. Redis and the roles that are measured share one core;
//! the load, the upstream and this program have the other one.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

mod arguments;
mod client;
mod figure;
mod goals;
mod load;
mod machine;
mod private_redis;
mod report;
mod role;
mod rows;
mod side;
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
use rows::ROWS;
use testbed::Testbed;

/// A row that takes longer is stuck.
const ROW_LIMIT: Duration = Duration::from_secs(300);

// One thread, which has its core: the load and the upstream are never moved.
#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let (mut interrupted, mut terminated) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    // Dropped on a signal, and with it all processes.
    tokio::select! {
        ended = measure(&arguments) => ended,
        _ = interrupted.recv() => anyhow::bail!("interrupted"),
        _ = terminated.recv() => anyhow::bail!("terminated"),
    }
}

async fn measure(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let conditions = machine::pin()?;
    println!("{conditions}, {} volume", arguments.volume().name);
    let bed = Testbed::start(arguments.volume()).await?;
    let (mut figures, mut failed) = (Vec::new(), false);
    for row in ROWS.iter().filter(|row| arguments.wants(row.name)) {
        let row_begun = Instant::now();
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
        println!("  ({:.0} s)", row_begun.elapsed().as_secs_f64());
    }
    let report = report::Report::new(conditions, bed.redis.version().await?, bed.volume.name, figures);
    println!("\n{}", report.table());
    println!("measured in {:.0} s", begun.elapsed().as_secs_f64());
    if let Some(folder) = &arguments.report {
        report.write(folder).with_context(|| format!("can't write the report to {}", folder.display()))?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
