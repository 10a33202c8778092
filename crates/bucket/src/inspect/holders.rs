//! The callers with the most jobs or bytes in a bucket.

use std::collections::HashMap;

use crate::bucket::Bucket;
use crate::error::BucketError;

/// Of the hash in one call.
const AT_ONCE: usize = 1000;
/// How the field with a caller's bytes ends (counts.lua): no caller has a space in it.
const BYTES: &str = " bytes";

/// The jobs of a caller in a bucket, including those in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    pub caller: String,
    pub jobs: u64,
    pub bytes: u64,
}

impl Bucket {
    /// All callers that have jobs in the bucket, in no order: as many as it has room for jobs, at most. Jobs without a
    /// caller are nobody's.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn holders(&self) -> Result<Vec<Holder>, BucketError> {
        let mut holders = HashMap::<String, Holder>::new();
        let mut cursor = "0".to_owned();
        loop {
            let mut scan = redis::cmd("HSCAN");
            scan.arg(self.redis_bucket.keys.holders()).arg(&cursor).arg("COUNT").arg(AT_ONCE);
            // A field that moves meanwhile may come twice. One that is no number, as somebody has written it by hand,
            // counts nothing.
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
