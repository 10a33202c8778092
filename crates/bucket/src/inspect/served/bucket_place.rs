//! The place of a bucket's jobs: name, kind and key.

use std::fmt;
use std::str::FromStr;

use dripfeed_job::BucketName;
use dripfeed_store::Store;

use crate::script::keys::Keys;
use crate::settings::{BucketSettings, Kind};

/// The place of a bucket's jobs in Redis. As text: name, kind and key, separated by spaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketPlace {
    pub bucket: BucketName,
    pub kind: Kind,
    /// The configured key. `None` for `prefix:{bucket}:jobs`.
    pub key: Option<String>,
}

impl From<&BucketSettings> for BucketPlace {
    fn from(settings: &BucketSettings) -> Self {
        Self { bucket: settings.name.clone(), kind: settings.kind, key: settings.key.clone() }
    }
}

impl BucketPlace {
    /// Returns the key of its jobs in `store`.
    #[must_use]
    pub fn jobs_key(&self, store: &Store) -> String {
        self.keys(store).jobs()
    }

    pub(crate) fn keys(&self, store: &Store) -> Keys {
        Keys::new(store.prefix(), &self.bucket, self.key.as_deref(), self.kind)
    }
}

impl fmt::Display for BucketPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.bucket, self.kind.as_str(), self.key.as_deref().unwrap_or_default())
    }
}

impl FromStr for BucketPlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.splitn(3, ' ');
        let mut word = || words.next().ok_or(());
        let bucket = word()?.parse().map_err(|_| ())?;
        let kind = word()?;
        let kind = [Kind::Stream, Kind::List].into_iter().find(|known| known.as_str() == kind).ok_or(())?;
        let key = word()?;
        Ok(Self { bucket, kind, key: (!key.is_empty()).then(|| key.to_owned()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back_as_it_was_written() {
        for text in ["mail stream ", "mail list x:rl:zewtopia.com/tigerfeeding"] {
            assert_eq!(text.parse::<BucketPlace>().map(|place| place.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "mail", "mail stream", "mail heap ", "a{b} stream "] {
            assert_eq!(text.parse::<BucketPlace>(), Err(()), "{text}");
        }
    }
}
