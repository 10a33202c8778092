//! Comma-separated values (RFC 4180).

use serde_json::Value as Json;

/// A column: its name, and where its value stands in an item.
pub(in crate::command) type CsvColumn = (&'static str, &'static str);

pub(super) fn head(columns: &[CsvColumn]) -> String {
    record(columns.iter().map(|(name, _)| (*name).to_owned()))
}

pub(super) fn row(item: &Json, columns: &[CsvColumn]) -> String {
    record(columns.iter().map(|(_, pointer)| match item.pointer(pointer) {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }))
}

fn record(values: impl Iterator<Item = String>) -> String {
    values.map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}

fn quoted(value: String) -> String {
    if value.contains([',', '"', '\r', '\n']) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_would_break_a_row_is_quoted() {
        let item =
            json!({"id": "1-0", "outcome": {"status": 500, "reason": null, "body": "a,\"b\"\nc"}, "headers": [1, 2]});
        let columns =
            [("id", "/id"), ("status", "/outcome/status"), ("reason", "/outcome/reason"), ("body", "/outcome/body")];
        assert_eq!(head(&columns), "id,status,reason,body\r\n");
        assert_eq!(row(&item, &columns), "1-0,500,,\"a,\"\"b\"\"\nc\"\r\n");
        assert_eq!(row(&item, &[("headers", "/headers"), ("none", "/none")]), "\"[1,2]\",\r\n");
    }
}
