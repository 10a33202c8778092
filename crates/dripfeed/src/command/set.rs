//! `dripfeed set BUCKET key=value…`

use std::str::FromStr;

use clap::Args;
use dripfeed_job::BucketName;
use dripfeed_limit::load;
use http::Method;
use serde_json::{Value as Json, json};

use super::bucket;
use crate::client::ConnectionArgs;
use crate::exit::Failure;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    bucket: BucketName,
    /// capacity=50, capacity_bytes=64MiB, max_share=25%, leak.rate=10/s, leak.burst=10, leak.concurrency=5,
    /// leak.max_in_flight=20, leak.adaptive=false, leak.tiers='[{"kind":"fixed","limit":10000,"period":"1d"}]',
    /// limits=@FILE with a list of policies in YAML or JSON; an empty value restores the configured one
    #[arg(required = true, value_name = "KEY=VALUE")]
    changes: Vec<Change>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// One setting, by the name and in the form that the API has for it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    key: &'static str,
    value: Json,
}

const NUMBERS: [&str; 4] = ["capacity", "leak.burst", "leak.concurrency", "leak.max_in_flight"];
const TEXTS: [&str; 3] = ["capacity_bytes", "max_share", "leak.rate"];
const SWITCHES: [&str; 1] = ["leak.adaptive"];
const LISTS: [&str; 2] = ["leak.tiers", "limits"];

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("write it as key=value")?;
        let named = |known: &[&'static str]| known.iter().copied().find(|name| *name == key.trim());
        let value = value.trim();
        let change = |key, read: &dyn Fn() -> Result<Json, String>| {
            let value = if value.is_empty() { Json::Null } else { read()? };
            Ok(Self { key, value })
        };
        if let Some(key) = named(&NUMBERS) {
            return change(key, &|| {
                value.parse::<u64>().map(Json::from).map_err(|_| format!("`{value}` is not a whole number"))
            });
        }
        if let Some(key) = named(&TEXTS) {
            return change(key, &|| Ok(Json::from(value)));
        }
        if let Some(key) = named(&SWITCHES) {
            return change(key, &|| value.parse::<bool>().map(Json::from).map_err(|_| "use true or false".to_owned()));
        }
        if let Some(key) = named(&LISTS) {
            return change(key, &|| list(value));
        }
        let all = [&NUMBERS[..], &TEXTS, &SWITCHES, &LISTS].concat();
        Err(format!("unknown setting: use one of {}", all.join(", ")))
    }
}

/// A list, or the name of a file with it; the server reads what is in it.
fn list(value: &str) -> Result<Json, String> {
    let text = match value.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?,
        None => value.to_owned(),
    };
    load::parse_yaml(&text).map_err(|error| error.to_string())
}

pub(super) async fn run(Arguments { bucket, changes, connection }: &Arguments) -> Result<(), Failure> {
    let path = format!("/v1/buckets/{bucket}");
    let state = connection.server()?.send_json(Method::PATCH, &path, &document(changes)).await?;
    Ok(bucket::print(&state, connection.output)?)
}

fn document(changes: &[Change]) -> Json {
    changes.iter().fold(json!({}), |mut document, change| {
        match change.key.split_once('.') {
            Some((section, key)) => document[section][key] = change.value.clone(),
            None => document[change.key] = change.value.clone(),
        }
        document
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(changes: &[&str]) -> Result<Json, String> {
        let changes: Result<Vec<Change>, String> = changes.iter().map(|change| change.parse()).collect();
        changes.map(|changes| document(&changes))
    }

    #[test]
    fn changes_are_written_as_the_api_reads_them() {
        assert_eq!(
            read(&["capacity=50", "leak.rate=10/s", "leak.burst=", "capacity_bytes=64MiB", "leak.tiers=[]"]),
            Ok(
                json!({"capacity": 50, "capacity_bytes": "64MiB", "leak": {"rate": "10/s", "burst": null, "tiers": []}})
            )
        );
    }

    #[test]
    fn limits_come_from_a_file_or_as_they_are() {
        let file = tempfile::NamedTempFile::new().unwrap_or_else(|error| unreachable!("{error}"));
        std::fs::write(&file, "- { id: each, tiers: [{ kind: gate, period: 1s }] }\n").unwrap_or_default();
        let limits = json!({"limits": [{"id": "each", "tiers": [{"kind": "gate", "period": "1s"}]}]});
        assert_eq!(read(&[&format!("limits=@{}", file.path().display())]), Ok(limits.clone()));
        assert_eq!(read(&[&format!("limits={}", limits["limits"])]), Ok(limits));
        assert_eq!(read(&["limits="]), Ok(json!({"limits": null})));
        assert!(read(&["limits=@/nowhere"]).is_err_and(|reported| reported.starts_with("/nowhere: ")));
    }

    #[test]
    fn what_cannot_be_set_is_told_before_anybody_is_asked() {
        for change in ["capacity", "capacity=many", "kind=list", "leak.speed=1", "leak.tiers=[", "leak.adaptive=1", "="]
        {
            assert!(read(&[change]).is_err(), "{change}");
        }
    }
}
