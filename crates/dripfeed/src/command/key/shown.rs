//! Output of keys.

use dripfeed_client::ApiResponse;
use serde_json::Value as Json;

use crate::client::version;
use crate::exit::Failure;
use crate::output::{self, Column, Format, shown};

pub(super) const COLUMNS: [Column; 7] = [
    ("ID", |key| shown(key, "/id")),
    ("SCOPES", |key| names(key, "scopes")),
    ("BUCKETS", |key| names(key, "buckets")),
    ("PRIORITY", |key| shown(key, "/priority")),
    ("NOT AFTER", |key| shown(key, "/not_after")),
    ("CHANGED BY", |key| shown(key, "/changed_by")),
    ("CHANGED AT", |key| shown(key, "/changed_at")),
];

const DETAILS: [Column; 2] = [("SERVICES", |key| names(key, "services")), ("VERSION", |key| shown(key, "/version"))];

fn names(key: &Json, member: &str) -> String {
    let names = key[member].as_array().into_iter().flatten().filter_map(Json::as_str);
    names.collect::<Vec<_>>().join(", ")
}

pub(super) fn with_version(answer: &ApiResponse) -> Result<Json, Failure> {
    let mut key: Json = answer.json()?;
    key["version"] = version(answer);
    Ok(key)
}

pub(super) fn print(key: &Json, format: Format) -> std::io::Result<()> {
    match format {
        Format::Table => output::sheet(&[COLUMNS.as_slice(), &DETAILS].concat(), key),
        Format::Json => output::json(key),
    }
}
