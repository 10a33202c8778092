//! Pushes a job and waits for its end: `cargo run -p dripfeed-client --example push`, beside `make dev`.
#![expect(clippy::print_stdout, reason = "it shows what came of the job")]

use std::error::Error;
use std::time::Duration;

use dripfeed_client::{Client, NewJob, Retries};
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = std::env::var("DRIPFEED_SERVER").unwrap_or_else(|_| "http://127.0.0.1:7180".to_owned());
    let bucket = std::env::args().nth(1).unwrap_or_else(|| "demo".to_owned()).parse()?;
    let client = Client::builder(server).retries(Retries::within(Duration::from_secs(30))).build()?;
    let job = NewJob::json(&json!({ "tiger": 1 }))?.expires_in(Duration::from_secs(600));
    let receipt = client.push(&bucket, &job).await?;
    println!("{} is accepted, one of {} jobs", receipt.id, receipt.level);
    let job = client.wait(&bucket, receipt.id, Duration::from_secs(60)).await?;
    println!("{} is {} after {} attempts", job.id, job.state, job.attempts);
    Ok(())
}
