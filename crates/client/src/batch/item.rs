//! A job as a batch item.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dripfeed_job::options::OptionName;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};

use crate::new_job::NewJob;

/// A batch item: `{"body": …, "options": {…}}`, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchItem(String);

#[derive(Serialize)]
struct Members<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'a str>,
    options: Map<String, Json>,
}

impl BatchItem {
    /// From JSON text. Line breaks, which are insignificant in JSON, become spaces.
    #[must_use]
    pub fn of_json(text: &str) -> Self {
        Self(text.replace('\n', " "))
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&NewJob> for BatchItem {
    /// The payload arrives byte for byte: JSON of one line as JSON text, all else in base64.
    fn from(job: &NewJob) -> Self {
        let is_json = job.content_type.as_deref() == Some("application/json") && !job.body.contains(&b'\n');
        let body = is_json.then(|| serde_json::from_slice::<&RawValue>(&job.body).ok()).flatten();
        // What is around the text isn't part of it.
        let body = body.filter(|text| text.get().len() == job.body.len());
        let body_base64 = body.is_none().then(|| STANDARD.encode(&job.body));
        let members = Members { body, body_base64, content_type: job.content_type.as_deref(), options: options(job) };
        // Nothing in it can fail to be written: its keys are texts.
        Self(serde_json::to_string(&members).unwrap_or_default())
    }
}

fn options(job: &NewJob) -> Map<String, Json> {
    let mut options: Map<String, Json> =
        job.options.iter().map(|(option, text)| (option.member().to_owned(), value(*option, text))).collect();
    if !job.forward.is_empty() {
        let headers = job.forward.iter().map(|(name, text)| (name.clone(), Json::from(text.as_str())));
        options.insert("forward".to_owned(), Json::Object(headers.collect()));
    }
    options
}

/// Counts are numbers there.
fn value(option: OptionName, text: &str) -> Json {
    match (option, text.parse::<u32>()) {
        (OptionName::Retries, Ok(retries)) => retries.into(),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(job: &NewJob) -> String {
        BatchItem::from(job).0
    }

    #[test]
    fn json_stays_the_text_that_it_is() {
        let job = NewJob::new(r#"{ "big": 12345678901234567890123, "n":1.0}"#).content_type("application/json");
        let expected = concat!(
            r#"{"body":{ "big": 12345678901234567890123, "n":1.0},"content_type":"application/json","#,
            r#""options":{"forward":{"X-A":"1"},"retries":3}}"#,
        );
        assert_eq!(item(&job.retries(3).header("X-A", "1")), expected);
    }

    #[test]
    fn other_bytes_are_base64() {
        assert_eq!(item(&NewJob::new("a\n")), r#"{"body_base64":"YQo=","options":{}}"#);
        for text in ["1\n", " 1", "{"] {
            let item = item(&NewJob::new(text).content_type("application/json"));
            assert!(item.starts_with(r#"{"body_base64":"#), "{item}");
        }
    }
}
