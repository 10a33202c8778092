//! Finds environment variables that have the name of a setting except for its double underscores, and so set nothing.
//! Other variables that begin with `DRIPFEED` are ignored, because Kubernetes adds some for each service, such as
//! `DRIPFEED_INTAKE_PORT`.

use std::collections::BTreeMap;
use std::fmt;

use config::{Value, ValueKind};

use crate::settings::tree::ENVIRONMENT_PREFIX;

/// The names of settings, by the same names with single underscores.
type Names = BTreeMap<String, String>;

/// A variable that sets nothing, and the name that would set the setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misnamed {
    pub(crate) variable: String,
    pub(crate) setting: String,
}

impl fmt::Display for Misnamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the environment variable {} sets nothing: name it {}", self.variable, self.setting)
    }
}

/// Returns the misnamed variables, sorted by name.
pub(super) fn among(mut variables: Vec<String>, defaults: &Value) -> Vec<Misnamed> {
    let names = names(defaults);
    variables.sort();
    let misnamed = |variable: String| {
        let setting = setting(&variable, &names).filter(|_| !is_read(&variable))?;
        Some(Misnamed { variable, setting })
    };
    variables.into_iter().filter_map(misnamed).collect()
}

/// Returns the right name of a variable such as `DRIPFEED__REDIS_URL`, which is read, as an unknown section.
pub(in crate::settings) fn setting_meant_by(variable: &str, defaults: &Value) -> Option<String> {
    setting(variable, &names(defaults))
}

fn is_read(variable: &str) -> bool {
    variable.to_ascii_uppercase().starts_with(&format!("{ENVIRONMENT_PREFIX}__"))
}

fn names(defaults: &Value) -> Names {
    let mut names = Names::new();
    add_names(defaults, "", &mut names);
    names
}

fn add_names(value: &Value, above: &str, names: &mut Names) {
    match &value.kind {
        ValueKind::Table(table) if !table.is_empty() => {
            for (key, value) in table {
                let separator = if above.is_empty() { "" } else { "__" };
                add_names(value, &format!("{above}{separator}{}", key.to_ascii_uppercase()), names);
            }
        }
        _ => {
            names.insert(above.replace("__", "_"), above.to_owned());
        }
    }
}

/// Returns the name of the setting that `variable` resembles.
fn setting(variable: &str, names: &Names) -> Option<String> {
    let variable = variable.to_ascii_uppercase().replace("__", "_");
    let name = variable.strip_prefix(ENVIRONMENT_PREFIX)?.strip_prefix('_')?;
    let setting = names.get(name).cloned().or_else(|| bucket_setting(name, names))?;
    Some(format!("{ENVIRONMENT_PREFIX}__{setting}"))
}

/// Splits `BUCKETS_name_setting`, where the setting is one of `[defaults]` or the upstream. If several match, the
/// longest setting is meant.
fn bucket_setting(name: &str, names: &Names) -> Option<String> {
    let name = name.strip_prefix("BUCKETS_")?;
    let defaults = names
        .iter()
        .filter_map(|(name, read)| Some((name.strip_prefix("DEFAULTS_")?, read.strip_prefix("DEFAULTS__")?)));
    let split = |(setting, read)| {
        let bucket = name.strip_suffix(setting)?.strip_suffix('_').filter(|bucket| !bucket.is_empty())?;
        Some((bucket, read))
    };
    let splits = defaults.chain([("UPSTREAM", "UPSTREAM")]).filter_map(split);
    let (bucket, read) = splits.min_by_key(|(bucket, _)| bucket.len())?;
    Some(format!("BUCKETS__{bucket}__{read}"))
}
