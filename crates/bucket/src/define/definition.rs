//! A definition as stored in Redis.

use dripfeed_job::BucketName;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A bucket created over the API.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    pub bucket: BucketName,
    /// Increases with each change.
    pub version: u64,
    /// The version at which the bucket was created.
    pub incarnation: u64,
    /// The id of the API key that wrote this version. `None` if no keys were configured.
    pub by: Option<String>,
    /// The definition as written, without credentials.
    pub definition: Json,
    /// The encrypted credentials.
    pub sealed: Option<String>,
}

/// The JSON of a stored definition, behind incarnation and capacity. Another version of dripfeed may have written it.
#[derive(Serialize, Deserialize)]
struct Stored<D> {
    by: Option<String>,
    definition: D,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
}

impl Definition {
    /// Reads a stored definition. Returns `None` if it isn't valid.
    pub(super) fn parse(bucket: &str, version: u64, text: &str) -> Option<Self> {
        let mut words = text.splitn(3, ' ');
        let incarnation = words.next()?.parse().ok()?;
        let Stored { by, definition, sealed } = serde_json::from_str(words.nth(1)?).ok()?;
        Some(Self { bucket: bucket.parse().ok()?, version, incarnation, by, definition, sealed })
    }
}

/// The JSON of a stored definition. put_definition.lua writes incarnation and capacity before it.
pub(super) fn text(by: Option<&str>, definition: &Json, sealed: Option<&str>) -> String {
    let stored = Stored { by: by.map(str::to_owned), definition, sealed: sealed.map(str::to_owned) };
    serde_json::to_string(&stored).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_reads_back_as_it_was_written() {
        let definition = json!({ "upstream": "https://api.example/", "leak": { "rate": "5/s" } });
        let stored = format!("17 65536 {}", text(Some("platform"), &definition, Some("x")));
        let read = Definition::parse("mail", 18, &stored);
        let by = Some("platform".to_owned());
        let Ok(bucket) = "mail".parse() else { unreachable!("a plain name") };
        let sealed = Some("x".to_owned());
        assert_eq!(read, Some(Definition { bucket, version: 18, incarnation: 17, by, definition, sealed }));
        for broken in ["", "17", "17 65536", "17 65536 {", "x 1 {}", "17 65536 {\"by\":null}"] {
            assert_eq!(Definition::parse("mail", 18, broken), None, "{broken}");
        }
    }
}
