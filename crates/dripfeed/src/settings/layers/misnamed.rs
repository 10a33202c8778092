//! Variables of the environment that are nearly named as a setting: without a warning nobody would notice that they
//! set nothing. What isn't the name of a setting isn't ours: Kubernetes adds variables for each service, such as
//! DRIPFEED_INTAKE_PORT.

use std::collections::BTreeMap;
use std::fmt;

use config::{Value, ValueKind};

use crate::settings::tree::ENVIRONMENT_PREFIX;

/// Names of settings with single underscores, and as they are read.
type Names = BTreeMap<String, String>;

/// A variable that sets nothing, and how that of the setting is named.
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

/// Those of these variables, in the order of their names.
pub(super) fn among(mut variables: Vec<String>, defaults: &Value) -> Vec<Misnamed> {
    let mut names = Names::new();
    add_names(defaults, "", &mut names);
    variables.sort();
    let misnamed = |variable: String| {
        let setting = format!("{ENVIRONMENT_PREFIX}__{}", meant(&variable, &names)?);
        Some(Misnamed { variable, setting })
    };
    variables.into_iter().filter_map(misnamed).collect()
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

fn meant(variable: &str, names: &Names) -> Option<String> {
    let variable = variable.to_ascii_uppercase();
    let name = variable.strip_prefix(ENVIRONMENT_PREFIX)?.strip_prefix('_')?;
    if name.starts_with('_') {
        return None;
    }
    let name = name.replace("__", "_");
    names.get(&name).cloned().or_else(|| of_bucket(&name, names))
}

/// A bucket has the settings of `[defaults]`, and an upstream. Beside the longest one that fits stands its name.
fn of_bucket(name: &str, names: &Names) -> Option<String> {
    let name = name.strip_prefix("BUCKETS_")?;
    let defaults = names
        .iter()
        .filter_map(|(name, read)| Some((name.strip_prefix("DEFAULTS_")?, read.strip_prefix("DEFAULTS__")?)));
    let fits = |(setting, read)| {
        let bucket = name.strip_suffix(setting)?.strip_suffix('_').filter(|bucket| !bucket.is_empty())?;
        Some((bucket, read))
    };
    let (bucket, read) = defaults.chain([("UPSTREAM", "UPSTREAM")]).filter_map(fits).min_by_key(|(it, _)| it.len())?;
    Some(format!("BUCKETS__{bucket}__{read}"))
}
