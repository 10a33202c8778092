use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use dripfeed_job::BucketName;
use thiserror::Error;

/// The name of a service, of the same characters as a bucket's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceName(BucketName);

#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "`{}` is not a valid service name: use 1 to 64 of a-z A-Z 0-9 _ - . and begin with a letter or digit",
    .0.escape_debug()
)]
pub struct BadServiceName(String);

impl ServiceName {
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The tag of the Redis keys of the service's limits. A bucket can't have the same tag.
    pub(crate) fn tag(&self) -> String {
        format!("service:{}", self.0)
    }
}

impl FromStr for ServiceName {
    type Err = BadServiceName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|_| BadServiceName(text.chars().take(64).collect()))
    }
}

impl From<BucketName> for ServiceName {
    fn from(name: BucketName) -> Self {
        Self(name)
    }
}

impl Borrow<str> for ServiceName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
