//! A job as a batch item.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dripfeed_job::options::OptionName;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

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
    options: Options<'a>,
}

struct Options<'a>(&'a NewJob);

#[derive(Serialize)]
#[serde(untagged)]
enum OptionValue<'a> {
    Text(&'a str),
    Count(u32),
    Forward(Forward<'a>),
}

struct Forward<'a>(&'a NewJob);

impl BatchItem {
    /// Creates an item from JSON text. Line breaks, which are insignificant in JSON, become spaces.
    #[must_use]
    pub fn of_json(text: &str) -> Self {
        Self(text.replace('\n', " "))
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&NewJob> for BatchItem {
    /// The upstream gets the payload byte for byte: JSON of one line is sent as JSON, any other payload in base64.
    fn from(job: &NewJob) -> Self {
        let is_json = job.content_type.as_deref() == Some("application/json") && !job.body.contains(&b'\n');
        let body = is_json.then(|| serde_json::from_slice::<&RawValue>(&job.body).ok()).flatten();
        // A `RawValue` lacks the whitespace around it.
        let body = body.filter(|text| text.get().len() == job.body.len());
        let body_base64 = body.is_none().then(|| STANDARD.encode(&job.body));
        let content_type = job.content_type.as_deref();
        let members = Members { body, body_base64, content_type, options: Options(job) };
        // Can't fail, because all keys are strings.
        Self(serde_json::to_string(&members).unwrap_or_default())
    }
}

impl Serialize for Options<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let NewJob { options, forward, .. } = self.0;
        let options = options.iter().map(|(option, text)| (option.member(), OptionValue::of(*option, text)));
        let forward = (!forward.is_empty()).then_some(("forward", OptionValue::Forward(Forward(self.0))));
        serializer.collect_map(options.chain(forward))
    }
}

impl<'a> OptionValue<'a> {
    /// The API has counts as JSON numbers, all other options as strings.
    fn of(option: OptionName, text: &'a str) -> Self {
        match (option, text.parse()) {
            (OptionName::Retries, Ok(retries)) => Self::Count(retries),
            _ => Self::Text(text),
        }
    }
}

impl Serialize for Forward<'_> {
    /// Keeps duplicate headers, so that the intake refuses them, as in a single submission.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.forward.iter().map(|(name, text)| (name, text)))
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
            r#""options":{"retries":3,"forward":{"X-A":"1"}}}"#,
        );
        assert_eq!(item(&job.retries(3).header("X-A", "1")), expected);
    }

    #[test]
    fn a_header_that_is_given_twice_is_sent_twice() {
        let job = NewJob::new("").header("X-A", "1").header("X-A", "2");
        assert_eq!(item(&job), r#"{"body_base64":"","options":{"forward":{"X-A":"1","X-A":"2"}}}"#);
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
