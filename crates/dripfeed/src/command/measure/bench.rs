//! `dripfeed bench BUCKET`: submits jobs to a running installation at a given rate, and measures the latency of
//! submissions.
//!
//! Open loop: each submission is due at a fixed time, however long earlier ones take, and its latency counts from that
//! time. So a stall of the installation shows in every submission that was due during it, and not only in one
//! (coordinated omission).

mod arrivals;
mod chart;
mod tally;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use dripfeed_job::{BucketName, Rate, duration};
use serde_json::Value as Json;

use self::arrivals::Load;
use self::tally::Tally;
use super::chart_file::ChartFile;
use crate::client::ConnectionArgs;
use crate::exit::{Exit, Failure};
use crate::output::{self, Column, Format, progress_bar, shown};
use crate::signals;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Bucket to submit to; use one for tests, because the jobs are delivered to its upstream
    bucket: BucketName,
    /// Rate of submissions, such as 100/s
    #[arg(long, default_value = "100/s")]
    rate: Rate,
    /// Duration of the test, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = time)]
    time: Duration,
    /// Size of each payload in bytes
    #[arg(long, value_name = "NUMBER", default_value_t = 256)]
    bytes: usize,
    /// Write a chart of the latency percentiles to this file, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

const LINES: [Column; 14] = [
    ("Due", |result| shown(result, "/due")),
    ("Accepted", |result| shown(result, "/accepted")),
    ("Refused", |result| shown(result, "/refused")),
    ("Failed", |result| shown(result, "/failed")),
    ("Unanswered", |result| shown(result, "/unanswered")),
    ("Due per s", |result| shown(result, "/due_per_s")),
    ("Accepted per s", |result| shown(result, "/accepted_per_s")),
    ("Latency p50 ms", |result| shown(result, "/latency_ms/p50")),
    ("Latency p90 ms", |result| shown(result, "/latency_ms/p90")),
    ("Latency p99 ms", |result| shown(result, "/latency_ms/p99")),
    ("Latency p99.9 ms", |result| shown(result, "/latency_ms/p99_9")),
    ("Latency max ms", |result| shown(result, "/latency_ms/max")),
    ("Refused by code", by_code),
    ("Interrupted", |result| shown(result, "/interrupted")),
];

pub(crate) async fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { bucket, rate, time, bytes, svg, connection } = arguments;
    let (server, stop) = (connection.server()?, signals::stop_with_terminal()?);
    let load = Load::new(*rate, *time, *bytes).map_err(|message| Failure::new(Exit::Usage, message))?;
    let chart = svg.as_deref().map(ChartFile::open).transpose()?;
    // Errors of all submissions, such as an unknown bucket, are reported before the first one.
    let path = format!("/v1/buckets/{bucket}");
    tokio::select! {
        state = server.get(&path) => drop(state?),
        () = stop.cancelled() => return Err(interrupted()),
    }
    let bar = progress_bar::counting(Some(load.submissions()));
    let tally = load.run(&server, bucket, &bar, &stop).await;
    bar.finish_and_clear();
    print(&tally, connection.output())?;
    if let Some(mut chart) = chart {
        let svg = chart::draw(&format!("{bucket}, {rate} for {}", duration::show(*time)), &tally);
        chart.write(&svg.map_err(|error| anyhow::anyhow!("no chart: {error}"))?)?;
    }
    let is_interrupted = tally.is_interrupted();
    match tally.into_failure() {
        Some(failure) => Err(failure),
        None if is_interrupted => Err(interrupted()),
        None => Ok(()),
    }
}

fn interrupted() -> Failure {
    Failure::new(Exit::Failure, "interrupted before all submissions were due and answered")
}

fn by_code(result: &Json) -> String {
    let codes = result["refused_by_code"].as_object().into_iter().flatten();
    let texts: Vec<String> = codes.map(|(code, number)| format!("{code} {number}")).collect();
    if texts.is_empty() { "-".to_owned() } else { texts.join(", ") }
}

fn print(tally: &Tally, format: Format) -> std::io::Result<()> {
    let document = tally.document();
    match format {
        Format::Table => output::sheet(&LINES, &document),
        Format::Json => output::json(&document),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    let time = duration::parse(text).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("must be above zero".to_owned()) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn codes_of_refusals_are_a_text() {
        let text = |codes: Json| by_code(&json!({ "refused_by_code": codes }));
        assert_eq!(text(json!({ "bucket_full": 82, "caller_limit": 1 })), "bucket_full 82, caller_limit 1");
        assert_eq!(text(json!({})), "-");
    }
}
