//! Which buckets or services something is about: names, or `*` for all.

use std::collections::{BTreeMap, BTreeSet};

use dripfeed_auth::{BucketSet, ServiceSet};
use dripfeed_job::BucketName;
use dripfeed_limit::ServiceName;

use super::bucket::ConfiguredBucket;
use super::read::Reader;
use super::tree::Step;

/// Reads the names at `path`. One that isn't configured is a slip of the pen.
pub(super) fn read(
    reader: &mut Reader<'_>,
    path: &[Step],
    names: &[String],
    configured: &BTreeMap<BucketName, Option<ConfiguredBucket>>,
) -> Option<BucketSet> {
    if names.is_empty() {
        reader.error(path, "names no bucket: use names, or [\"*\"] for all");
        return None;
    }
    if names.iter().any(|name| name == "*") {
        return Some(BucketSet::All);
    }
    let mut selected = BTreeSet::new();
    for (index, name) in names.iter().enumerate() {
        match configured.get_key_value(name.as_str()) {
            Some((name, _)) => {
                selected.insert(name.clone());
            }
            None => {
                let path: Vec<Step> = path.iter().cloned().chain([Step::Index(index)]).collect();
                let shown = name.escape_debug();
                reader.error(&path, format!("there is no bucket `{shown}`: add [buckets.{shown}], or take it out"));
            }
        }
    }
    Some(BucketSet::Named(selected))
}

/// Services come and go at run time: any name that one may have will do.
pub(super) fn read_services(reader: &mut Reader<'_>, path: &[Step], names: &[String]) -> Option<ServiceSet> {
    if names.is_empty() {
        reader.error(path, "names no service: use names, or [\"*\"] for all");
        return None;
    }
    if names.iter().any(|name| name == "*") {
        return Some(ServiceSet::All);
    }
    let mut selected = BTreeSet::new();
    for (index, name) in names.iter().enumerate() {
        match name.parse::<ServiceName>() {
            Ok(name) => {
                selected.insert(name);
            }
            Err(error) => {
                let path: Vec<Step> = path.iter().cloned().chain([Step::Index(index)]).collect();
                reader.error(&path, error.to_string());
            }
        }
    }
    Some(ServiceSet::Named(selected))
}
