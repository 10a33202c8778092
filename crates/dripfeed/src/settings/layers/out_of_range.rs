//! Reports numbers in TOML that are out of range, all of them with their keys. The TOML parser would report only one,
//! without its key.

use dripfeed_job::rate::MAX_EXACT_INTEGER;
use toml::de::{DeTable, DeValue};

use crate::settings::config_error::ConfigError;
use crate::settings::tree::{self, Step};

/// Returns an error for each such number, or none if the file isn't valid TOML.
pub(super) fn numbers(origin: &str, text: &str) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    if let Ok(document) = DeTable::parse(text) {
        check_table(origin, document.get_ref(), &[], &mut errors);
    }
    errors
}

fn check_table(origin: &str, table: &DeTable<'_>, path: &[Step], errors: &mut Vec<ConfigError>) {
    for (key, value) in table {
        let path = [path, &[Step::Key(key.get_ref().to_string())]].concat();
        check_value(origin, value.get_ref(), &path, errors);
    }
}

fn check_value(origin: &str, value: &DeValue<'_>, path: &[Step], errors: &mut Vec<ConfigError>) {
    let number = match value {
        DeValue::Integer(number) if i64::from_str_radix(number.as_str(), number.radix()).is_err() => number.to_string(),
        DeValue::Float(number) if is_too_large(number.as_str()) => number.to_string(),
        DeValue::Table(table) => return check_table(origin, table, path, errors),
        DeValue::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                check_value(origin, value.get_ref(), &[path, &[Step::Index(index)]].concat(), errors);
            }
            return;
        }
        _ => return,
    };
    let message = format!("{number} is out of range: no setting has a number above {}", MAX_EXACT_INTEGER - 1);
    errors.push(ConfigError { origin: Some(origin.to_owned()), key: Some(tree::shown(path)), message });
}

fn is_too_large(number: &str) -> bool {
    !number.contains("inf") && number.parse::<f64>().is_ok_and(f64::is_infinite)
}
