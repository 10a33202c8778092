//! What becomes of a job, by what its upstream answers: `cargo run -p dripfeed-job --example verdict`.
#![expect(clippy::print_stdout, reason = "it shows what it decides")]

use std::error::Error;
use std::time::Duration;

use dripfeed_job::path::UpstreamPath;
use dripfeed_job::{Rate, Retry, UpstreamAnswer, Verdict, duration};

fn main() -> Result<(), Box<dyn Error>> {
    let rate: Rate = "200/500ms".parse()?;
    println!("{} calls in {}", rate.limit(), duration::show(Duration::from_micros(rate.period_us())));
    if let Err(error) = UpstreamPath::parse("/orders/../admin") {
        println!("refused: {error}");
    }
    let retry = Retry { attempts: 5, first: duration::parse("1s")?, max: duration::parse("10m")? };
    for status in [200, 404, 429, 503] {
        let answer = UpstreamAnswer::Status { status, retry_after: None, exhausted_for: None, no_retry: false };
        match answer.verdict() {
            Verdict::Delivered => println!("{status}: delivered"),
            Verdict::Throttled { .. } => println!("{status}: the bucket is throttled, no attempt is counted"),
            Verdict::Dead(reason) => println!("{status}: dead-lettered: {reason}"),
            // The draw is the caller's: nothing here is random.
            Verdict::Failed(reason) => match retry.after(1, 0.5) {
                Some(wait) => println!("{status}: {reason}; retried in {}", duration::show(wait)),
                None => println!("{status}: dead-lettered after the last attempt"),
            },
        }
    }
    Ok(())
}
