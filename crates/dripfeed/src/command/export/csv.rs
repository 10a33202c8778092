//! Comma-separated values (RFC 4180). Values that aren't UTF-8 are in base64, which another column shows, as in JSON.

use serde_json::Value as Json;

/// The name of a column, and the JSON pointer of its value.
pub(in crate::command) type CsvColumn = (&'static str, &'static str);

pub(super) fn head(columns: &[CsvColumn]) -> String {
    record(columns.iter().map(|(name, _)| (*name).to_owned()))
}

pub(super) fn row(item: &Json, columns: &[CsvColumn]) -> String {
    record(columns.iter().map(|(_, pointer)| match item.pointer(pointer) {
        None | Some(Json::Null) => String::new(),
        Some(Json::String(text)) => escape_formula(text),
        Some(value) => value.to_string(),
    }))
}

/// Puts an apostrophe before a text that begins like a formula, because callers and upstreams write these texts, and a
/// spreadsheet would evaluate it. Also before an apostrophe, so that readers can remove a leading one from all texts.
fn escape_formula(text: &str) -> String {
    const ACTIVE: [char; 12] = ['=', '+', '-', '@', '\t', '\r', '\n', '\'', '＝', '＋', '－', '＠'];
    if text.starts_with(ACTIVE) { format!("'{text}") } else { text.to_owned() }
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
    fn csv_cells_with_separators_are_quoted() {
        let item =
            json!({"id": "1-0", "outcome": {"status": 500, "reason": null, "body": "a,\"b\"\nc"}, "headers": [1, 2]});
        let columns =
            [("id", "/id"), ("status", "/outcome/status"), ("reason", "/outcome/reason"), ("body", "/outcome/body")];
        assert_eq!(head(&columns), "id,status,reason,body\r\n");
        assert_eq!(row(&item, &columns), "1-0,500,,\"a,\"\"b\"\"\nc\"\r\n");
        assert_eq!(row(&item, &[("headers", "/headers"), ("none", "/none")]), "\"[1,2]\",\r\n");
    }

    #[test]
    fn no_text_is_a_formula_and_each_can_be_restored() {
        let cell = |value: Json| row(&json!({ "value": value }), &[("value", "/value")]);
        for text in ["=1+1", "+49 30 1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1", "'=1"] {
            let written = cell(text.into());
            let written = written.trim_end_matches("\r\n").trim_matches('"');
            assert_eq!(written.strip_prefix('\''), Some(text), "{written:?}");
        }
        for text in ["a=b", "1-0", "2023-11-14T22:13:20.000Z", ""] {
            assert_eq!(cell(text.into()), format!("{text}\r\n"));
        }
        assert_eq!(cell((-1).into()), "-1\r\n", "a number is no formula");
    }

    #[test]
    fn a_base64_body_is_labelled_in_csv() {
        let columns = [("answer", "/outcome/body"), ("answer_base64", "/outcome/base64")];
        let answered = |outcome: Json| row(&json!({ "outcome": outcome }), &columns);
        assert_eq!(answered(json!({"body": "/w==", "base64": true})), "/w==,true\r\n");
        assert_eq!(answered(json!({"body": "ok"})), "ok,\r\n");
    }
}
