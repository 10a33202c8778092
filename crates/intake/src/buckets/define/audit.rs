//! Writes definitions to the audit log.

use std::collections::BTreeSet;

use dripfeed_auth::Caller;
use dripfeed_bucket::{Bucket, Definition, RUN_TIME_SETTINGS, RunTimeSetting};
use dripfeed_job::audit_text;
use serde_json::{Map, Value, json};

use crate::buckets::audit::record_changes;

/// Records a definition. `before`: `None` for a new bucket.
pub(super) async fn defined(bucket: &Bucket, caller: &Caller, before: Option<&Definition>, after: &Definition) {
    let changes = match before {
        None => vec!["created".to_owned()],
        Some(before) => changed(before, after),
    };
    record_changes(bucket, caller, "define", changes).await;
}

/// Describes the changes: with values for settings that every reader of the bucket can see, only names for others.
/// Omitted settings are shown as `default`.
fn changed(before: &Definition, after: &Definition) -> Vec<String> {
    let value = |definition: &Definition, setting: &RunTimeSetting| {
        let value = definition.definition.pointer(&format!("/{}", setting.name.replace('.', "/")));
        value.cloned().unwrap_or_else(|| "default".into())
    };
    let shown = RUN_TIME_SETTINGS.iter().flat_map(|setting| {
        let (from, to) = (value(before, setting), value(after, setting));
        if from == to { Vec::new() } else { audit_text::change(setting.name, &from, &to) }
    });
    let mut changes: Vec<String> = shown.collect();
    let names = names(before, after);
    if !names.is_empty() {
        changes.push(format!("changed: {}", names.join(", ")));
    }
    if changes.is_empty() { vec!["as before".to_owned()] } else { changes }
}

/// The names of changed keys, without settings that can be changed at run time. Without values, which may be long or
/// confidential.
fn names<'d>(before: &'d Definition, after: &'d Definition) -> Vec<&'d str> {
    let others = |definition: &Definition| {
        let mut others = definition.definition.clone();
        for setting in &RUN_TIME_SETTINGS {
            let (section, name) = setting.place();
            let members = if section.is_empty() { Some(&mut others) } else { others.get_mut(section) };
            members.and_then(Value::as_object_mut).map(|members| members.remove(name));
        }
        others
    };
    let (old, new) = (others(before), others(after));
    let keys = |definition: &'d Definition| definition.definition.as_object().into_iter().flat_map(Map::keys);
    let names: BTreeSet<&str> = keys(before).chain(keys(after)).map(String::as_str).collect();
    let has_new_credentials = before.sealed != after.sealed;
    let is_changed = |name: &&str| {
        let member = |document: &'_ Value| document.get(*name).filter(|value| **value != json!({})).cloned();
        member(&old) != member(&new)
    };
    names.into_iter().filter(is_changed).chain(has_new_credentials.then_some("credentials")).collect()
}
