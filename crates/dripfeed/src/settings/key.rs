//! `[[keys]]`: the API keys.

use std::collections::HashMap;
use std::path::PathBuf;

use dripfeed_auth::{ApiKey, Scope, ServiceSet, check_key_id, parse_hash};
use dripfeed_job::Priority;
use serde::Deserialize;

use super::read::{Reader, SectionPath};
use super::secret;
use super::selector::{self, KnownNames};
use super::tree::{Step, Tree};

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a section [[keys]] with id, sha256 or hash_file, scopes, buckets, services and priority"
)]
struct Entry {
    /// `None` if missing, which is reported separately, as for `scopes`.
    id: Option<String>,
    #[serde(default)]
    sha256: String,
    #[serde(default)]
    hash_file: PathBuf,
    scopes: Option<Vec<Scope>>,
    #[serde(default = "all")]
    buckets: Vec<String>,
    /// By default the same as `buckets`.
    services: Option<Vec<String>>,
    #[serde(default)]
    priority: Priority,
}

fn all() -> Vec<String> {
    vec!["*".to_owned()]
}

pub(super) fn read(reader: &mut Reader<'_>, known: KnownNames<'_>) -> Vec<ApiKey> {
    if reader.tree.json(&["keys".into()]).is_object() {
        reader.error(&["keys".into()], "must be a list: write [[keys]] before each key, not [keys]");
        return Vec::new();
    }
    let Some(entries) = reader.section::<Vec<serde_json::Value>>("keys") else { return Vec::new() };
    let mut keys: Vec<ApiKey> = Vec::new();
    let mut places = HashMap::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let path = ["keys".into(), Step::Index(index)];
        report_missing(reader, &path, &entry);
        let errors = reader.count();
        let Some(entry) = reader.value::<Entry>(&SectionPath::only(&path), entry, &serde_json::Value::Null) else {
            continue;
        };
        if reader.count() > errors {
            // Other values may be replacements of values that couldn't be read. Only the hash can be checked.
            if !entry.sha256.is_empty() {
                read_sha256(reader, &path, &entry);
            }
            continue;
        }
        let Some(key) = read_entry(reader, &path, entry, known) else { continue };
        // Two keys may have the same id during a rotation, but not the same hash, as their scopes may differ.
        if let Some(first) = places.insert(key.sha256, index) {
            reader.error(&path, format!("duplicates keys[{first}]: remove one of them"));
        }
        keys.push(key);
    }
    keys
}

/// Warns about keys without `buckets`, which may use all buckets. Keys created over the API must name them.
pub(super) fn warnings(tree: &Tree) -> Vec<String> {
    let keys = tree.json(&["keys".into()]);
    let entries = keys.as_array().into_iter().flatten().enumerate();
    let without_buckets = entries.filter(|(_, entry)| entry.get("buckets").is_none());
    without_buckets
        .map(|(index, entry)| {
            let id = entry["id"].as_str().unwrap_or_default();
            format!("keys[{index}] (`{id}`) names no buckets and may use all: set buckets, for all to [\"*\"]")
        })
        .collect()
}

fn read_entry(reader: &mut Reader<'_>, path: &[Step], entry: Entry, known: KnownNames<'_>) -> Option<ApiKey> {
    if let Some(Err(message)) = entry.id.as_deref().map(check_key_id) {
        reader.error(&below(path, "id"), message);
    }
    if entry.scopes.as_ref().is_some_and(Vec::is_empty) {
        reader.error(&below(path, "scopes"), format!("is empty: {SCOPES}"));
    }
    let sha256 = read_sha256(reader, path, &entry);
    let buckets = selector::read(reader, &below(path, "buckets"), &entry.buckets, known);
    let services = match &entry.services {
        Some(names) => selector::read_services(reader, &below(path, "services"), names),
        None => buckets.clone().map(ServiceSet::from),
    };
    let Entry { id, scopes, priority, .. } = entry;
    Some(ApiKey { id: id?, sha256: sha256?, scopes: scopes?, buckets: buckets?, services: services?, priority })
}

const SCOPES: &str = "use submit, read, inspect, operate, define, keys";

/// Reports missing keys of an entry as written, before invalid values are removed from it. `null` counts as missing. An
/// entry must not be skipped without an error: an intake without keys lets anyone do everything.
fn report_missing(reader: &mut Reader<'_>, path: &[Step], entry: &serde_json::Value) {
    if entry.is_array() {
        reader.error(path, "must be a section [[keys]] with id, sha256 or hash_file and scopes, not a list");
    }
    let Some(entry) = entry.as_object() else { return };
    for (key, what_to_do) in [("id", "name the caller"), ("scopes", SCOPES)] {
        if entry.get(key).is_none_or(serde_json::Value::is_null) {
            reader.error(&below(path, key), format!("is missing: {what_to_do}"));
        }
    }
}

fn below(path: &[Step], key: &str) -> Vec<Step> {
    path.iter().cloned().chain([key.into()]).collect()
}

fn read_sha256(reader: &mut Reader<'_>, path: &[Step], entry: &Entry) -> Option<[u8; 32]> {
    hash(entry).map_err(|(key, message)| reader.error(&below(path, key), message)).ok()
}

fn hash(entry: &Entry) -> Result<[u8; 32], (&'static str, String)> {
    match (entry.sha256.as_str(), entry.hash_file.as_os_str().is_empty()) {
        ("", true) => Err(("sha256", "is missing, and hash_file too: printf %s \"$KEY\" | sha256sum".to_owned())),
        ("", false) => {
            let text = secret::read_public(&entry.hash_file).map_err(|message| ("hash_file", message))?;
            // The output of sha256sum: the hash, and a file name.
            let digits = text.split_whitespace().next().unwrap_or_default();
            parse_hash(digits).map_err(|message| ("hash_file", format!("{}: {message}", entry.hash_file.display())))
        }
        (digits, true) => parse_hash(digits).map_err(|message| ("sha256", message)),
        (_, false) => Err(("hash_file", "sha256 is also set: remove one of them".to_owned())),
    }
}
