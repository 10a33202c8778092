//! Why the key of a bucket's jobs has an unexpected type: the kind of the bucket was changed, and not its key.

use dripfeed_store::ErrorKind;

use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::settings::Kind;

impl RedisBucket {
    /// The same error, or [`BucketError::OtherKind`] for a script that counts the jobs before it writes anything.
    pub(crate) async fn explain(&self, error: BucketError) -> BucketError {
        if !matches!(&error, BucketError::Store(store) if store.kind() == ErrorKind::WrongType) {
            return error;
        }
        let (kind, count) = match self.kind {
            Kind::Stream => (Kind::List, "LLEN"),
            Kind::List => (Kind::Stream, "XLEN"),
        };
        let key = self.keys.jobs();
        match self.store.command(redis::cmd(count).arg(&key)).await {
            Ok(jobs) if jobs > 0 => {
                BucketError::OtherKind { bucket: self.settings().name.clone(), key, kind: kind.as_str(), jobs }
            }
            // It is neither, or another key is the one.
            _ => error,
        }
    }
}
