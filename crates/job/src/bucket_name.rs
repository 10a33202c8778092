//! The name of a bucket, safe in a URL, a Redis key and a metric label as it stands.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

const LONGEST: usize = 64;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketName(Arc<str>);

#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` can't name a bucket: use 1 to {LONGEST} of a-z A-Z 0-9 _ - . and begin with a letter or digit")]
pub struct BadBucketName(String);

impl BucketName {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BucketName {
    type Err = BadBucketName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.');
        let begins_well = text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
        if begins_well && text.len() <= LONGEST && text.bytes().all(allowed) {
            Ok(Self(text.into()))
        } else {
            Err(BadBucketName(text.chars().take(LONGEST).collect()))
        }
    }
}

impl fmt::Display for BucketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for BucketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::borrow::Borrow<str> for BucketName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Serialize for BucketName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for BucketName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_names() {
        for text in ["tigerfeeding", "a", "9", "mail.eu-west_1", "SMS"] {
            assert_eq!(text.parse::<BucketName>().map(|name| name.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_could_reach_beyond_its_key_is_no_name() {
        let long = "x".repeat(LONGEST + 1);
        for text in ["", ".", "..", "-a", "a/b", "a b", "a{b}", "a*", "а", "a\n", "a:b", long.as_str()] {
            assert!(text.parse::<BucketName>().is_err(), "{text:?}");
        }
    }
}
