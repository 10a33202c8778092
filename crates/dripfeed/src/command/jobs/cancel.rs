//! `dripfeed jobs BUCKET --cancel`: bulk cancel.

use dripfeed_job::BucketName;
use http::Method;
use serde_json::{Map, Value as Json};

use super::Arguments;
use crate::command::done;
use crate::command::purge::confirmed;
use crate::exit::{Exit, Failure};

pub(super) async fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { bucket, filter, yes, connection, .. } = arguments;
    let filter: Map<_, _> = filter.pairs().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    if filter.is_empty() {
        let message = "use at least one of --state, --caller, --older-than, --since and --until; `dripfeed purge` \
                       cancels all jobs";
        return Err(Failure::new(Exit::Usage, message));
    }
    let server = connection.server()?;
    if !yes && !confirmed("cancel", &question(bucket, &filter), bucket)? {
        return Err(Failure::new(Exit::Failure, "nothing was cancelled"));
    }
    let path = format!("/v1/buckets/{bucket}/jobs/cancel");
    let cancelled = server.send_json(Method::POST, &path, &Json::Object(filter)).await?;
    Ok(done::print(&cancelled, "cancelled", "job", connection.output())?)
}

fn question(bucket: &BucketName, filter: &Map<String, Json>) -> String {
    let words: Vec<String> = filter.iter().map(|(name, value)| format!("{name} {value}")).collect();
    format!("Cancel the waiting and parked jobs of `{bucket}` with {}?", words.join(", "))
}
