//! Numbers in TOML that no setting can have. The reader of TOML would report one of them, without its key.

use dripfeed_job::rate::EXACT;
use toml::de::{DeTable, DeValue};

use crate::settings::config_error::ConfigError;
use crate::settings::tree::{self, Step};

/// All that a file has; none where it isn't TOML.
pub(super) fn numbers(origin: &str, text: &str) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    if let Ok(document) = DeTable::parse(text) {
        of_table(origin, document.get_ref(), &[], &mut errors);
    }
    errors
}

fn of_table(origin: &str, table: &DeTable<'_>, path: &[Step], errors: &mut Vec<ConfigError>) {
    for (key, value) in table {
        let path = [path, &[Step::Key(key.get_ref().to_string())]].concat();
        of_value(origin, value.get_ref(), &path, errors);
    }
}

fn of_value(origin: &str, value: &DeValue<'_>, path: &[Step], errors: &mut Vec<ConfigError>) {
    let number = match value {
        DeValue::Integer(number) if i64::from_str_radix(number.as_str(), number.radix()).is_err() => number.to_string(),
        DeValue::Float(number) if is_too_large(number.as_str()) => number.to_string(),
        DeValue::Table(table) => return of_table(origin, table, path, errors),
        DeValue::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                of_value(origin, value.get_ref(), &[path, &[Step::Index(index)]].concat(), errors);
            }
            return;
        }
        _ => return,
    };
    let message = format!("{number} is out of range: no setting has a number above {}", EXACT - 1);
    errors.push(ConfigError { origin: Some(origin.to_owned()), key: Some(tree::shown(path)), message });
}

fn is_too_large(number: &str) -> bool {
    !number.contains("inf") && number.parse::<f64>().is_ok_and(f64::is_infinite)
}
