//! What all processes over one Redis and prefix share: the layout of the keys, the salt, and the buckets that were ever
//! served.

mod drain;
mod layout;
mod moving;
mod other_kind;
mod outbox;
mod stranded;

use dripfeed_tests::processes::Process;
use dripfeed_tests::service::Service;

/// An upstream that nobody calls.
const NOBODY: &str = "upstream = \"http://127.0.0.1:1/\"\n";

/// Sections of buckets, and what is set in them beside that upstream.
fn buckets(sections: &[(&str, &str)]) -> String {
    sections.iter().map(|(name, settings)| format!("[buckets.{name}]\n{NOBODY}{settings}\n")).collect()
}

/// Stranded jobs, as a process counts them.
async fn stranded(process: &Process) -> Vec<String> {
    let metrics = process.client().get("/metrics").await.expect("an answer").body;
    let metrics = String::from_utf8_lossy(&metrics);
    metrics.lines().filter(|line| line.starts_with("dripfeed_stranded_jobs{")).map(str::to_owned).collect()
}

/// When a process has last noted a place.
async fn noted_ms(service: &Service, place: &str) -> Option<u64> {
    let noted = redis::Cmd::hget("dripfeed:{@installation}:buckets", place);
    service.store().command(&noted).await.expect("Redis answers")
}
