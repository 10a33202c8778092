//! The tree of all merged layers, in which each value has its origin.

use std::collections::BTreeMap;

use config::{FileFormat, Format as _, Value, ValueKind};
use serde_json::{Map, Value as Json};

/// The table type of the config crate.
pub(super) type Table = config::Map<String, Value>;

/// The origin of a value from the compiled-in defaults.
pub(super) const DEFAULT: &str = "default";
pub(super) const ARGUMENT: &str = "--set";
pub(super) const ENVIRONMENT_PREFIX: &str = "DRIPFEED";
/// The config crate's name for the environment.
const ENVIRONMENT: &str = "the environment";

/// A step towards a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

pub(super) struct Tree {
    pub(super) merged: Value,
    /// The lowest layer.
    pub(super) defaults: Value,
    /// The origins of empty tables, which get lost because layers are merged value by value.
    pub(super) empty_tables: BTreeMap<Vec<Step>, String>,
}

impl Tree {
    /// Returns the names of all sections.
    pub(super) fn sections(&self) -> Vec<String> {
        keys(&self.merged)
    }

    /// Returns the names below a table, sorted.
    pub(super) fn names(&self, path: &[Step]) -> Vec<String> {
        find(&self.merged, path).map(keys).unwrap_or_default()
    }

    pub(super) fn json(&self, path: &[Step]) -> Json {
        find(&self.merged, path).map_or(Json::Null, json)
    }

    pub(super) fn default_json(&self, path: &[Step]) -> Json {
        find(&self.defaults, path).map_or(Json::Null, json)
    }

    pub(super) fn has(&self, path: &[Step]) -> bool {
        find(&self.merged, path).is_some()
    }

    /// Returns the origin of a value, or of the nearest value above it. Returns `None` if neither is set.
    pub(super) fn origin(&self, path: &[Step]) -> Option<String> {
        (0..=path.len())
            .rev()
            .find_map(|length| Some((find(&self.merged, &path[..length])?, &path[..length])))
            .and_then(|(value, path)| origin(value).or_else(|| self.empty_tables.get(path).map(String::as_str)))
            .map(|origin| if origin == ENVIRONMENT { variable(path) } else { origin.to_owned() })
    }

    /// Returns whether it is set by another layer than the defaults.
    pub(super) fn is_set(&self, path: &[Step]) -> bool {
        find(&self.merged, path).and_then(origin).is_some_and(|origin| origin != DEFAULT)
    }

    /// Returns whether it comes from the environment or an argument, where all values are texts.
    pub(super) fn is_untyped(&self, path: &[Step]) -> bool {
        let origin = find(&self.merged, path).and_then(Value::origin);
        matches!(origin, Some(ENVIRONMENT | ARGUMENT))
    }
}

/// Formats a path: `a.b[0].c`.
pub(super) fn shown(path: &[Step]) -> String {
    path.iter().fold(String::new(), |shown, step| match step {
        Step::Key(key) if shown.is_empty() => key.clone(),
        Step::Key(key) => format!("{shown}.{key}"),
        Step::Index(index) => format!("{shown}[{index}]"),
    })
}

/// Parses a path: the opposite of [`shown`].
pub(super) fn steps(shown: &str) -> Vec<Step> {
    let parts = shown.split(['.', '[']).filter(|part| !part.is_empty());
    parts
        .map(|part| match part.strip_suffix(']').and_then(|index| index.parse().ok()) {
            Some(index) => Step::Index(index),
            None => part.into(),
        })
        .collect()
}

/// Parses a text from the environment or an argument as a TOML value. Returns `None` if it isn't one.
pub(super) fn typed(text: &str) -> Option<Json> {
    match FileFormat::Toml.parse(None, &format!("value = {text}")) {
        Ok(table) => table.get("value").map(json),
        // TOML has no whole numbers of more than 64 bits.
        Err(_) => text.parse::<i128>().ok().map(|number| json(&Value::from(number as f64))),
    }
}

fn variable(path: &[Step]) -> String {
    let name = shown(path).to_uppercase().replace('.', "__");
    format!("{ENVIRONMENT_PREFIX}__{name}")
}

fn keys(value: &Value) -> Vec<String> {
    let ValueKind::Table(table) = &value.kind else { return Vec::new() };
    let mut keys: Vec<String> = table.keys().cloned().collect();
    keys.sort();
    keys
}

fn find<'a>(value: &'a Value, path: &[Step]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, step| match (&value.kind, step) {
        (ValueKind::Table(table), Step::Key(key)) => table.get(key),
        (ValueKind::Array(array), Step::Index(index)) => array.get(*index),
        _ => None,
    })
}

/// The origin of a value. A table loses its origin when layers are merged, so that of a set value in it is returned.
fn origin(value: &Value) -> Option<&str> {
    let ValueKind::Table(table) = &value.kind else { return value.origin() };
    let mut keys: Vec<_> = table.keys().collect();
    keys.sort();
    let origins = || keys.iter().filter_map(|key| origin(table.get(*key)?));
    let set = value.origin().into_iter().chain(origins()).find(|origin| *origin != DEFAULT);
    set.or_else(|| value.origin()).or_else(|| origins().next())
}

/// Adds the paths of all empty tables in `table`, with their origins.
pub(super) fn empty_tables(table: &Table, above: &[Step], found: &mut BTreeMap<Vec<Step>, String>) {
    for (key, value) in table {
        // An outermost name may be a path: `--set a.b=…`.
        let name = if above.is_empty() { steps(key) } else { vec![key.as_str().into()] };
        let path = [above, &name].concat();
        match (&value.kind, value.origin()) {
            (ValueKind::Table(inner), Some(origin)) if inner.is_empty() => {
                found.insert(path, origin.to_owned());
            }
            (ValueKind::Table(inner), _) => empty_tables(inner, &path, found),
            _ => {}
        }
    }
}

fn json(value: &Value) -> Json {
    match &value.kind {
        ValueKind::Nil => Json::Null,
        ValueKind::Boolean(value) => Json::from(*value),
        ValueKind::I64(value) => Json::from(*value),
        ValueKind::U64(value) => Json::from(*value),
        ValueKind::Float(value) if value.is_finite() => Json::from(*value),
        ValueKind::Float(value) => Json::from(value.to_string()),
        ValueKind::I128(value) => Json::from(value.to_string()),
        ValueKind::U128(value) => Json::from(value.to_string()),
        ValueKind::String(value) => Json::from(value.as_str()),
        ValueKind::Array(values) => values.iter().map(json).collect(),
        ValueKind::Table(table) => {
            let mut entries: Vec<_> = table.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Json::Object(entries.into_iter().map(|(key, value)| (key.clone(), json(value))).collect::<Map<_, _>>())
        }
    }
}
