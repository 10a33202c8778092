//! The effective settings, as `dripfeed config` prints them.

use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde_json::Value as Json;

use super::read::TypedValues;
use super::tree::{self, Step, Tree};

/// One setting. Secrets are masked.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RenderedSetting {
    pub(crate) key: String,
    pub(crate) value: Json,
    /// The layer that set it.
    pub(crate) origin: String,
}

const MASK: &str = "***";

/// `typed`: the typed values of texts.
pub(super) fn all(tree: &Tree, typed: &TypedValues) -> Vec<RenderedSetting> {
    let mut shown = Vec::new();
    for name in tree.sections() {
        let path = vec![Step::Key(name)];
        let json = tree.json(&path);
        walk(tree, typed, &path, &json, &mut shown);
    }
    shown
}

/// The checksum of the settings that must be the same in all processes of an installation, so without paths of files.
/// Credentials are masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SettingsChecksum(i64);

impl SettingsChecksum {
    pub(super) fn of(tree: &Tree, typed: &TypedValues) -> Self {
        let mut shown = Vec::new();
        for section in ["buckets", "defaults", "define"] {
            let path = [Step::from(section)];
            walk(tree, typed, &path, &tree.json(&path), &mut shown);
        }
        let mut lines: Vec<String> = shown
            .iter()
            .filter(|setting| !setting.key.ends_with("_file"))
            .map(|RenderedSetting { key, value, .. }| format!("{key} = {value}\n"))
            .collect();
        lines.sort_unstable();
        let digest = digest(&SHA256, lines.concat().as_bytes());
        Self(digest.as_ref().iter().take(6).fold(0, |number, byte| number << 8 | i64::from(*byte)))
    }

    /// 48 bits: numbers of metrics are exact up to 53 bits.
    pub(crate) const fn number(self) -> i64 {
        self.0
    }
}

fn walk(tree: &Tree, typed: &TypedValues, path: &[Step], json: &Json, shown: &mut Vec<RenderedSetting>) {
    let below = |step| path.iter().cloned().chain([step]).collect::<Vec<_>>();
    match json {
        Json::Object(table) if !table.is_empty() => {
            table.iter().for_each(|(key, value)| walk(tree, typed, &below(Step::Key(key.clone())), value, shown));
        }
        Json::Array(list) if list.iter().any(Json::is_object) => {
            list.iter()
                .enumerate()
                .for_each(|(index, value)| walk(tree, typed, &below(Step::Index(index)), value, shown));
        }
        value => shown.push(RenderedSetting {
            key: tree::shown(path),
            value: masked(path, number_or_boolean(typed, path).unwrap_or(value)),
            origin: tree.origin(path).unwrap_or_default(),
        }),
    }
}

/// Returns the typed value of a text if it is a number or a boolean. Lists and tables are shown as written.
fn number_or_boolean<'a>(typed: &'a TypedValues, path: &[Step]) -> Option<&'a Json> {
    typed.get(path).filter(|value| value.is_number() || value.is_boolean())
}

fn masked(path: &[Step], value: &Json) -> Json {
    let keys: Vec<&str> =
        path.iter().filter_map(|step| if let Step::Key(key) = step { Some(key.as_str()) } else { None }).collect();
    match (keys.as_slice(), value) {
        (["redis", "url"], Json::String(url)) => Json::from(without_login(url)),
        ([.., "upstream"], Json::String(url)) => Json::from(without_query(url)),
        ([.., "headers", _], _) => Json::from(MASK),
        // A table from the environment is a text.
        ([.., "headers"], Json::String(_)) => Json::from(MASK),
        ([.., "signing_secret"], secret) if *secret != "" => Json::from(MASK),
        (["keys"], Json::String(_)) => Json::from(MASK),
        _ => value.clone(),
    }
}

/// Masks the query, in which some upstreams expect an API key.
fn without_query(url: &str) -> String {
    url.split_once('?').map_or_else(|| url.to_owned(), |(place, _)| format!("{place}?{MASK}"))
}

/// Masks the login of a URL, and parameters that contain a password.
fn without_login(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (rest, parameters) = rest.split_once('?').map_or((rest, ""), |(rest, parameters)| (rest, parameters));
    let rest = rest.rsplit_once('@').map_or_else(|| rest.to_owned(), |(_, place)| format!("{MASK}@{place}"));
    let parameters = if parameters.contains("pass=") {
        format!("?{MASK}")
    } else if parameters.is_empty() {
        String::new()
    } else {
        format!("?{parameters}")
    };
    format!("{scheme}://{rest}{parameters}")
}
