//! Writes definitions to the audit log.

use dripfeed_auth::Caller;
use dripfeed_bucket::{Bucket, Definition};
use serde_json::Value;

use crate::buckets::audit::record;

/// `before`: None when it was created.
pub(super) async fn defined(bucket: &Bucket, caller: &Caller, before: Option<&Definition>, after: &Definition) {
    let detail = match before {
        None => "created".to_owned(),
        Some(before) => changed(before, after),
    };
    record(bucket, caller, "define", &detail).await;
}

/// The names of the keys that are others now. Values may be long.
fn changed(before: &Definition, after: &Definition) -> String {
    let members = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let has_other_credentials = before.sealed != after.sealed;
    let (before, after) = (members(&before.definition), members(&after.definition));
    let mut names: Vec<&String> =
        before.keys().chain(after.keys()).filter(|key| before.get(*key) != after.get(*key)).collect();
    names.sort_unstable();
    names.dedup();
    let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    let credentials = has_other_credentials.then_some("credentials");
    let names: Vec<&str> = names.into_iter().chain(credentials).collect();
    if names.is_empty() { "as before".to_owned() } else { format!("changed: {}", names.join(", ")) }
}
