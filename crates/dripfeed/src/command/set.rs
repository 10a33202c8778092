//! `dripfeed set BUCKET key=value…`

use std::collections::BTreeSet;
use std::str::FromStr;

use bytes::Bytes;
use clap::Args;
use dripfeed_bucket::{NO_LIMIT, RUN_TIME_SETTINGS, RunTimeSetting, SettingKind};
use dripfeed_job::BucketName;
use dripfeed_limit::load;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use serde_json::{Value as Json, json};

use super::buckets::bucket_state;
use crate::client::{ConnectionArgs, if_match};
use crate::did_you_mean::suggestion;
use crate::exit::{Exit, Failure};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Name of the bucket
    bucket: BucketName,
    #[arg(required = true, value_name = "KEY=VALUE", help = settings())]
    changes: Vec<Change>,
    /// Change the settings only if the bucket has this version (its ETag)
    #[arg(long, value_name = "VERSION")]
    if_match: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// A change of one setting, in the form of the API.
#[derive(Clone, Debug)]
struct Change {
    setting: &'static RunTimeSetting,
    value: Json,
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("use key=value")?;
        let name = name.trim();
        let setting = RunTimeSetting::named(name).ok_or_else(|| {
            let names = RUN_TIME_SETTINGS.each_ref().map(|setting| setting.name);
            format!("unknown setting{}: use one of {}", suggestion(name, names), names.join(", "))
        })?;
        let value = value.trim();
        Ok(Self { setting, value: if value.is_empty() { Json::Null } else { value_of(setting.kind, value)? } })
    }
}

fn value_of(kind: SettingKind, value: &str) -> Result<Json, String> {
    match kind {
        SettingKind::Most(_) if value == NO_LIMIT => Ok(Json::from(value)),
        SettingKind::Count(_) | SettingKind::SmallCount(_) | SettingKind::Most(_) => {
            value.parse::<u64>().map(Json::from).map_err(|_| format!("`{value}` isn't a whole number"))
        }
        SettingKind::Size(_) | SettingKind::MaxShare(_) | SettingKind::Rate(_) | SettingKind::FairBy(_) => {
            Ok(Json::from(value))
        }
        SettingKind::Switch(_) => value.parse::<bool>().map(Json::from).map_err(|_| "use true or false".to_owned()),
        SettingKind::Weights(_)
        | SettingKind::Flows(_)
        | SettingKind::FlowTiers(_)
        | SettingKind::PaceTiers(_)
        | SettingKind::Limits(_) => list(value),
    }
}

/// An example of each setting.
fn settings() -> String {
    let example = |setting: &RunTimeSetting| match setting.kind {
        SettingKind::Weights(_)
        | SettingKind::Flows(_)
        | SettingKind::FlowTiers(_)
        | SettingKind::PaceTiers(_)
        | SettingKind::Limits(_) => {
            format!("{}='{}'", setting.name, setting.example)
        }
        _ => format!("{}={}", setting.name, setting.example),
    };
    let examples: Vec<String> = RUN_TIME_SETTINGS.iter().map(example).collect();
    format!(
        "{}; a list may also be @FILE, in YAML or JSON; an empty value restores the configured one, and {NO_LIMIT} \
            lifts a limit",
        examples.join(", ")
    )
}

/// Parses a list, or a file with it. The server validates the items.
fn list(value: &str) -> Result<Json, String> {
    let text = match value.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?,
        None => value.to_owned(),
    };
    load::parse_yaml(&text).map_err(|error| error.to_string())
}

pub(super) async fn run(
    Arguments { bucket, changes, if_match: version, connection }: &Arguments,
) -> Result<(), Failure> {
    let body = document(changes).map_err(|message| Failure::new(Exit::Usage, message))?;
    let path = format!("/v1/buckets/{bucket}");
    let mut headers = if_match(version.as_deref())?;
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let state =
        connection.server()?.call(Method::PATCH, &path, headers, Bytes::from(body.to_string())).await?.json()?;
    Ok(bucket_state::print(&state, &[], connection.output())?)
}

/// Returns the body of the PATCH. Refuses two changes of one setting, because one would be ignored.
fn document(changes: &[Change]) -> Result<Json, String> {
    let mut document = json!({});
    let mut named = BTreeSet::new();
    for Change { setting, value } in changes {
        if !named.insert(setting.name) {
            return Err(format!("`{}` is given twice: set it once", setting.name));
        }
        setting.put(&mut document, value.clone());
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(changes: &[&str]) -> Result<Json, String> {
        let changes: Result<Vec<Change>, String> = changes.iter().map(|change| change.parse()).collect();
        document(&changes?)
    }

    #[test]
    fn changes_are_written_as_the_api_reads_them() {
        assert_eq!(
            read(&["capacity=50", "leak.rate=10/s", "leak.burst=", "capacity_bytes=64MiB", "leak.tiers=[]"]),
            Ok(
                json!({"capacity": 50, "capacity_bytes": "64MiB", "leak": {"rate": "10/s", "burst": null, "tiers": []}})
            )
        );
        let none = json!({"max_share": "none", "leak": {"rate": "none", "max_in_flight": "none"}});
        assert_eq!(read(&["max_share=none", "leak.rate=none", "leak.max_in_flight=none"]), Ok(none));
    }

    #[test]
    fn a_setting_that_is_given_twice_is_refused_and_named() {
        for twice in [["capacity=5", "capacity=6"], ["leak.rate=1/s", "leak.rate="], ["capacity=5", " capacity = 5"]] {
            let (name, _) = twice[0].split_once('=').unwrap_or_default();
            assert_eq!(read(&twice), Err(format!("`{name}` is given twice: set it once")));
        }
        assert!(read(&["leak.burst=2", "fair.burst=2"]).is_ok());
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
    fn an_invalid_change_is_refused_before_any_request() {
        for change in ["capacity", "capacity=many", "kind=list", "leak.speed=1", "leak.tiers=[", "leak.adaptive=1", "="]
        {
            assert!(read(&[change]).is_err(), "{change}");
        }
    }
}
