//! Lists the callers that have jobs in a bucket.

use std::collections::HashMap;

use crate::bucket::Bucket;
use crate::error::BucketError;

/// The number of fields of the hash that are read in one call.
const AT_ONCE: usize = 1000;
/// The suffix of the field with a caller's bytes (counts.lua). Names of callers contain no spaces.
const BYTES: &str = " bytes";

/// The jobs of a caller in a bucket, including those in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    pub caller: String,
    pub jobs: u64,
    pub bytes: u64,
}

impl Bucket {
    /// Returns all callers that have jobs in the bucket, in no particular order. Jobs without a caller aren't counted.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn holders(&self) -> Result<Vec<Holder>, BucketError> {
        let mut holders = HashMap::<String, Holder>::new();
        let mut cursor = "0".to_owned();
        loop {
            let mut scan = redis::cmd("HSCAN");
            scan.arg(self.redis_bucket.keys.holders()).arg(&cursor).arg("COUNT").arg(AT_ONCE);
            // HSCAN may return a field twice. A count that isn't a number, written by hand, counts as 0.
            let (next, fields): (String, Vec<(String, String)>) = self.redis_bucket.store.command(&scan).await?;
            for (field, count) in fields {
                let count = count.parse().unwrap_or(0);
                let caller = field.strip_suffix(BYTES).unwrap_or(&field);
                let holder = holders.entry(caller.to_owned()).or_default();
                if caller == field { holder.jobs = count } else { holder.bytes = count }
            }
            if next == "0" {
                break;
            }
            cursor = next;
        }
        Ok(holders.into_iter().map(|(caller, holder)| Holder { caller, ..holder }).collect())
    }
}
