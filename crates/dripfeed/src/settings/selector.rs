//! Parses selections of buckets or services: names, or `*` for all.

use std::collections::{BTreeMap, BTreeSet};

use dripfeed_auth::{BucketSet, ServiceSet};
use dripfeed_job::BucketName;
use dripfeed_limit::ServiceName;

use super::bucket::ConfiguredBucket;
use super::read::Reader;
use super::tree::Step;

/// The names of buckets that may be used.
#[derive(Clone, Copy)]
pub(super) struct KnownNames<'a> {
    pub(super) configured: &'a BTreeMap<BucketName, Option<ConfiguredBucket>>,
    /// Whether buckets may be created over the API.
    pub(super) may_be_created: bool,
}

/// Reads the names at `path`, and patterns such as `team-a-*`. Reports a name that isn't configured, unless buckets may
/// be created over the API.
pub(super) fn read(
    reader: &mut Reader<'_>,
    path: &[Step],
    names: &[String],
    known: KnownNames<'_>,
) -> Option<BucketSet> {
    if names.is_empty() {
        report_empty(reader, path);
        return None;
    }
    if names.iter().any(|name| name == "*") {
        return Some(BucketSet::All);
    }
    let (mut selected, mut prefixes) = (BTreeSet::new(), BTreeSet::new());
    for (index, name) in names.iter().enumerate() {
        match name.strip_suffix('*') {
            // A prefix of a valid name is a valid name.
            Some(prefix) if prefix.parse::<BucketName>().is_ok() => {
                prefixes.insert(prefix.to_owned());
            }
            _ => match name.parse::<BucketName>() {
                Ok(name) if known.may_be_created || known.configured.contains_key(&name) => {
                    selected.insert(name);
                }
                _ => {
                    let path: Vec<Step> = path.iter().cloned().chain([Step::Index(index)]).collect();
                    let shown = name.escape_debug();
                    reader.error(&path, format!("unknown bucket `{shown}`: add [buckets.{shown}], or remove it"));
                }
            },
        }
    }
    Some(match prefixes.is_empty() {
        true => BucketSet::Named(selected),
        false => BucketSet::Matching { names: selected, prefixes },
    })
}

/// Reports an empty list, unless it is empty because all its items were invalid.
fn report_empty(reader: &mut Reader<'_>, path: &[Step]) {
    if reader.tree.json(path).as_array().is_none_or(Vec::is_empty) {
        reader.error(path, "is empty: use names, or [\"*\"] for all");
    }
}

/// Reads names of services. They needn't exist, because services are created at run time.
pub(super) fn read_services(reader: &mut Reader<'_>, path: &[Step], names: &[String]) -> Option<ServiceSet> {
    if names.is_empty() {
        report_empty(reader, path);
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
