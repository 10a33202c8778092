//! Examines buckets, and collects the findings.

use dripfeed_bucket::{Bucket, BucketError, Examination, Finding, FindingKind};
use dripfeed_job::BucketName;
use serde_json::{Value as Json, json};

use super::partial_store::PartialStore;
use crate::exit::Failure;
use crate::output;

#[derive(Default)]
pub(super) struct Examined {
    pub(super) findings: Vec<Json>,
    /// Whether something in a bucket wasn't checked.
    pub(super) is_partial: bool,
}

impl Examined {
    /// Examines a bucket, and prints what couldn't be checked. `repair`: whether to repair the findings.
    pub(super) async fn add(&mut self, bucket: &Bucket, partial: &PartialStore, repair: bool) -> Result<(), Failure> {
        let examined = match bucket.examine(repair).await {
            Err(BucketError::OtherKind { key, kind, jobs, .. }) => {
                self.findings.push(other_kind(bucket, &key, kind, jobs));
                return Ok(());
            }
            Err(BucketError::ForeignType { key, .. }) => {
                self.findings.push(foreign_type(bucket, &key));
                return Ok(());
            }
            examined => partial.unless_away(examined)?,
        };
        let examined = match examined {
            Ok(examined) => examined,
            Err(why) => {
                output::say(format_args!("{}: not checked: {why}", bucket.name()));
                return Ok(());
            }
        };
        self.findings.extend(examined.findings.iter().map(|finding| document(bucket.name(), finding)));
        if repair {
            report_loss(bucket, &examined).await;
        }
        for what in &examined.unchecked {
            self.is_partial = true;
            output::say(format_args!("{}: not checked: {what}", bucket.name()));
        }
        Ok(())
    }
}

/// Prints the number of lost jobs, and adds it to the audit log, because the next run doesn't find them any more.
async fn report_loss(bucket: &Bucket, examined: &Examination) {
    let Some(lost) = examined.findings.iter().find(|finding| finding.kind == FindingKind::Lost) else { return };
    let (name, jobs) = (bucket.name(), lost.count);
    let detail = format!("{jobs} accepted jobs that are neither in the bucket nor ended");
    output::say(format_args!("{name}: written off as lost: {detail}"));
    // At maxmemory Redis refuses this entry, but not the repair.
    if let Err(error) = bucket.record(None, "write_off", &detail).await {
        output::say(format_args!("{name}: no entry in the audit log: {error}"));
    }
}

/// The finding for a bucket whose kind was changed, but not its key.
fn other_kind(bucket: &Bucket, key: &str, found: &str, jobs: u64) -> Json {
    let (name, configured) = (bucket.name(), bucket.settings().kind.as_str());
    json!({
        "bucket": name,
        "count": jobs,
        "what": format!("jobs in a {found} under the key of this {configured}: nothing is accepted or delivered"),
        "example": key,
        "remedy": null,
        "advice": format!("move them with `dripfeed drain {name} --into OTHER`, or give the bucket another `key`"),
    })
}

/// The finding for a key that another program uses.
fn foreign_type(bucket: &Bucket, key: &str) -> Json {
    json!({
        "bucket": bucket.name(),
        "count": 1,
        "what": "keys that should have jobs and have a type that dripfeed doesn't write: nothing is accepted",
        "example": key,
        "remedy": null,
        "advice": "delete the key, or give the bucket another `key`",
    })
}

fn document(bucket: &BucketName, finding: &Finding) -> Json {
    json!({
        "bucket": bucket,
        "count": finding.count,
        "what": finding.kind.what(),
        "example": finding.example,
        "remedy": finding.kind.remedy(),
    })
}
