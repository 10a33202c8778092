//! The settings of a bucket that can be changed at run time.

use dripfeed_job::size;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub(crate) struct Setting {
    /// As in PATCH, with a dot between section and member.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) example: String,
    /// The current value; null: no limit.
    pub(crate) value: Value,
    pub(crate) configured: Value,
    /// Whether it was changed at run time.
    pub(crate) changed: bool,
}

impl Setting {
    /// Whether the value is a list or an object, edited as JSON.
    pub(crate) fn is_document(&self) -> bool {
        self.example.starts_with(['[', '{'])
    }

    pub(crate) fn is_switch(&self) -> bool {
        matches!(self.example.as_str(), "true" | "false")
    }

    /// Formats a value of this setting.
    pub(crate) fn shown(&self, value: &Value) -> String {
        let bytes = value.as_u64().filter(|_| size::parse(&self.example).is_ok());
        bytes.map_or_else(|| shown(value), size::show)
    }

    /// Converts typed text to a value for PATCH, or returns why it isn't JSON.
    pub(crate) fn parsed(&self, text: &str) -> Result<Value, String> {
        let invalid = |error| format!("{}: not JSON: {error}", self.name);
        match serde_json::from_str(text) {
            Ok(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value),
            parsed if self.is_document() => parsed.map_err(invalid),
            _ => Ok(text.into()),
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "no limit".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Object(members) if members.is_empty() => "none".to_owned(),
        Value::Array(_) | Value::Object(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_have_a_unit_and_other_numbers_none() {
        let shown = |example: &str, value: Value| {
            let setting = json!({"name": "a", "description": "", "example": example, "value": value, "configured": 1,
                "changed": true});
            serde_json::from_value::<Setting>(setting).map(|setting| setting.shown(&setting.value)).ok()
        };
        assert_eq!(shown("32MiB", json!(64 << 20)).as_deref(), Some("64MiB"));
        assert_eq!(shown("32MiB", json!("1kB")).as_deref(), Some("1kB"));
        assert_eq!(shown("50", json!(1024)).as_deref(), Some("1024"));
    }
}
