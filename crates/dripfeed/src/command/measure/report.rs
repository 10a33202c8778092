//! `dripfeed report BUCKET`: jobs, outcomes and latencies over a window.

mod chart;
mod slots;

use std::path::PathBuf;

use clap::Args;
use dripfeed_job::BucketName;
use serde_json::{Value as Json, json};

use self::slots::Slots;
use super::chart_file::ChartFile;
use super::window::Window;
use crate::client::ConnectionArgs;
use crate::exit::Failure;
use crate::output::{self, Column, Format, shown};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Name of the bucket
    bucket: BucketName,
    /// Time window
    #[arg(long, default_value = "1h")]
    window: Window,
    /// Write a chart of counts and latencies to this file, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

const LINES: [Column; 15] = [
    ("From", |report| shown(report, "/from")),
    ("To", |report| shown(report, "/to")),
    ("Accepted", |report| shown(report, "/counts/accepted")),
    ("Refused", |report| shown(report, "/counts/refused")),
    ("Delivered", |report| shown(report, "/counts/delivered")),
    ("Dead", |report| shown(report, "/counts/dead")),
    ("Expired", |report| shown(report, "/counts/expired")),
    ("Cancelled", |report| shown(report, "/counts/cancelled")),
    ("Calls", |report| shown(report, "/counts/calls")),
    ("Retried", |report| shown(report, "/counts/retried")),
    ("Latency p50 ms", |report| shown(report, "/latency_ms/p50")),
    ("Latency p95 ms", |report| shown(report, "/latency_ms/p95")),
    ("Latency p99 ms", |report| shown(report, "/latency_ms/p99")),
    ("Latency max ms", |report| shown(report, "/latency_ms/max")),
    ("Slots with traffic", |report| report["slots"].as_array().map_or(0, Vec::len).to_string()),
];

pub(crate) async fn run(Arguments { bucket, window, svg, connection }: &Arguments) -> Result<(), Failure> {
    let (server, window) = (connection.server()?, window.as_str());
    let chart = svg.as_deref().map(ChartFile::open).transpose()?;
    let history = server.get(&format!("/v1/buckets/{bucket}/history?window={window}")).await?;
    // Latencies from admission to delivery come from the stored outcomes, as percentiles of slots can't be added.
    let ended = server.get(&format!("/v1/buckets/{bucket}/report?window={window}")).await?;
    let slots = Slots::of(&history);
    let report = report(&history, &ended, &slots);
    match connection.output() {
        Format::Table => output::sheet(&LINES, &report)?,
        Format::Json => output::json(&report)?,
    }
    if let Some(mut chart) = chart {
        let svg = chart::draw(bucket, window, &slots, &report).map_err(|error| anyhow::anyhow!("no chart: {error}"))?;
        chart.write(&svg)?;
    }
    Ok(())
}

fn report(history: &Json, ended: &Json, slots: &Slots) -> Json {
    json!({
        "bucket": history["bucket"],
        "window": history["window"],
        "from": history["from"],
        "to": history["to"],
        "counts": slots.counts(),
        "latency_ms": ended["latency_ms"],
        "slots": history["slots"],
    })
}
