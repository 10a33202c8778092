//! What is wrong in the buckets that were examined.

use dripfeed_bucket::{Bucket, BucketError, Examination, Finding, FindingKind};
use dripfeed_job::BucketName;
use serde_json::{Value as Json, json};

use super::partial::PartialStore;
use crate::exit::Failure;
use crate::output;

#[derive(Default)]
pub(super) struct Examined {
    pub(super) findings: Vec<Json>,
    /// Something in a bucket wasn't checked.
    pub(super) is_partial: bool,
}

impl Examined {
    /// Examines one more bucket, and reports what of it isn't checked. `repair`: what can be.
    pub(super) async fn add(&mut self, bucket: &Bucket, partial: &PartialStore, repair: bool) -> Result<(), Failure> {
        let examined = match bucket.examine(repair).await {
            Err(BucketError::OtherKind { key, kind, jobs, .. }) => {
                self.findings.push(of_other_kind(bucket, &key, kind, jobs));
                return Ok(());
            }
            Err(BucketError::ForeignType { key, .. }) => {
                self.findings.push(of_foreign_type(bucket, &key));
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

/// Jobs that no repair brings back are no finding of the next run: so this one says it, and the audit log keeps it.
async fn report_loss(bucket: &Bucket, examined: &Examination) {
    let Some(lost) = examined.findings.iter().find(|finding| finding.kind == FindingKind::Lost) else { return };
    let (name, jobs) = (bucket.name(), lost.count);
    let detail = format!("{jobs} accepted jobs that are neither in the bucket nor ended");
    output::say(format_args!("{name}: written off as lost: {detail}"));
    // At maxmemory it is refused, and a repair isn't.
    if let Err(error) = bucket.record(None, "write_off", &detail).await {
        output::say(format_args!("{name}: no entry in the audit log: {error}"));
    }
}

/// A bucket whose kind was changed, and not its key.
fn of_other_kind(bucket: &Bucket, key: &str, found: &str, jobs: u64) -> Json {
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

/// A key that somebody else uses.
fn of_foreign_type(bucket: &Bucket, key: &str) -> Json {
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
