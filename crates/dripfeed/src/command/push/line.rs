//! Parses a line of an NDJSON file of jobs: `{"body": any JSON, "options": {…}}`.

use std::collections::BTreeMap;

use dripfeed_job::members::Members;
use serde::Deserialize;
use serde_json::Value as Json;
use serde_json::value::RawValue;

/// The parts of a line that are sent, as JSON text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct JobLine<'a> {
    pub(super) body: &'a str,
    pub(super) options: BTreeMap<String, &'a str>,
    /// The names of unknown members.
    pub(super) others: Vec<String>,
}

impl<'a> JobLine<'a> {
    /// # Errors
    /// A text that says what is wrong with the line.
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        // `RawValue` accepts too large numbers and unpaired surrogates, for which intakes of 0.1.0 refuse the whole
        // batch.
        serde_json::from_str::<Json>(text).map_err(|error| format!("is not valid JSON: {}", in_line(&error)))?;
        let Members(members) = serde_json::from_str(text).map_err(|_| "is not a JSON object")?;
        let mut members = unique(members).map_err(|name| format!("`{name}` is given twice"))?;
        let body = members.remove("body").ok_or("has no field `body`")?;
        let options = members.remove("options").map_or(Ok(BTreeMap::new()), read_options)?;
        Ok(Self { body: body.get(), options, others: members.into_keys().collect() })
    }

    /// Returns an item of a batch. Adds the idempotency key `key` if the line has none.
    pub(super) fn item(&self, key: &str) -> String {
        let quoted = Json::from(key).to_string();
        let has_key = self.options.contains_key("idempotency_key");
        let options = self.options.iter().map(|(name, value)| (name.as_str(), *value));
        let added = (!has_key).then_some(("idempotency_key", quoted.as_str()));
        let options: Vec<String> =
            options.chain(added).map(|(name, value)| format!("{}:{value}", Json::from(name))).collect();
        format!(r#"{{"body":{},"options":{{{}}}}}"#, self.body, options.join(","))
    }
}

/// Formats an error without serde's line number, which is always 1.
fn in_line(error: &serde_json::Error) -> String {
    let (text, column) = (error.to_string(), error.column());
    let text = text.strip_suffix(&format!(" at line 1 column {column}")).unwrap_or(&text);
    format!("{text}, at column {column}")
}

/// Refuses duplicate members. The error is the name.
fn unique(members: Vec<(String, &RawValue)>) -> Result<BTreeMap<String, &RawValue>, String> {
    let mut unique = BTreeMap::new();
    for (name, value) in members {
        if unique.contains_key(&name) {
            return Err(name);
        }
        unique.insert(name, value);
    }
    Ok(unique)
}

fn read_options(options: &RawValue) -> Result<BTreeMap<String, &str>, String> {
    let Members(members) = Members::deserialize(options).map_err(|_| "`options` is not a JSON object")?;
    let members = unique(members).map_err(|name| format!("`{name}` of `options` is given twice"))?;
    Ok(members.into_iter().map(|(name, value)| (name, value.get())).collect())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn a_body_is_sent_as_the_text_it_is() {
        let text = r#"{"event": "x", "body": { "n" : 1.0, "big": 12345678901234567890123, "s": "\u00e9" }}"#;
        let line = JobLine::parse(text).unwrap();
        assert_eq!(line.others, ["event"]);
        assert_eq!(
            line.item("push-r-1"),
            concat!(
                r#"{"body":{ "n" : 1.0, "big": 12345678901234567890123, "s": "\u00e9" },"#,
                r#""options":{"idempotency_key":"push-r-1"}}"#,
            )
        );
    }

    #[test]
    fn a_line_keeps_its_options_and_its_own_key() {
        let line = JobLine::parse(r#"{"body":1,"options":{"delay":"1s","idempotency_key":"mine"}}"#).unwrap();
        assert_eq!(line.item("push-r-1"), r#"{"body":1,"options":{"delay":"1s","idempotency_key":"mine"}}"#);
    }

    #[test]
    fn a_line_that_is_no_job_is_refused_with_the_reason() {
        for (text, says) in [("", "JSON"), ("[]", "JSON"), ("{}", "body"), (r#"{"body":1,"options":[]}"#, "options")] {
            assert!(JobLine::parse(text).unwrap_err().contains(says), "{text}");
        }
    }

    #[test]
    fn a_line_that_would_fail_its_whole_batch_is_refused_before_sending() {
        let deep = format!(r#"{{"body":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        for text in [r#"{"body":"\ud800"}"#, r#"{"body":1e999}"#, &deep, r#"{"body":1} x"#] {
            let why = JobLine::parse(text).unwrap_err();
            assert!(why.starts_with("is not valid JSON: ") && why.contains(", at column "), "{why}");
        }
    }
}
