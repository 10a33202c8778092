//! Finds out why a key has an unexpected type: for the key of the jobs, the kind of the bucket may have been changed.
//! An empty stream of the other kind, or one that has no ids left, is deleted, and the request is repeated.

use std::sync::Arc;

use dripfeed_store::{ErrorKind, Script};

use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::SHARED;
use crate::settings::Kind;

static SCRIPT: Script = Script::new("other_kind", SHARED, include_str!("other_kind.lua"));

impl RedisBucket {
    /// Returns `Ok` if the key of the jobs is free now, so that the request can be repeated.
    ///
    /// # Errors
    /// The same error, or [`BucketError::OtherKind`], [`BucketError::ForeignType`] or [`BucketError::WrongTypes`].
    pub(crate) async fn make_way(&self, error: BucketError) -> Result<(), BucketError> {
        let BucketError::Store(store) = &error else { return Err(error) };
        match store.kind() {
            ErrorKind::WrongType => {
                let wrong = self.wrong_types().await.unwrap_or_default();
                if !wrong.is_empty() {
                    let keys: Vec<String> = wrong.iter().map(ToString::to_string).collect();
                    return Err(BucketError::WrongTypes { keys: keys.join(", "), source: Arc::clone(store) });
                }
            }
            ErrorKind::NoIds => {}
            _ => return Err(error),
        }
        let Ok((in_stream, in_list)) = self.remove_empty_stream().await else { return Err(error) };
        let (kind, jobs, own) = match self.kind {
            Kind::Stream => (Kind::List, in_list, in_stream),
            Kind::List => (Kind::Stream, in_stream, in_list),
        };
        let (bucket, key) = (self.settings().name.clone(), self.keys.jobs());
        Err(match u64::try_from(jobs) {
            Ok(0) => return Ok(()),
            Ok(jobs) => BucketError::OtherKind { bucket, key, kind: kind.as_str(), jobs },
            Err(_) if own < 0 => BucketError::ForeignType { bucket, key },
            // The key is an unknown one, such as that of a limit; or the stream has jobs, and no ids left.
            Err(_) => error,
        })
    }

    /// Deletes the key of the jobs if it is an empty stream. Returns the number of jobs in a stream, and in a list,
    /// under this key: -1 if it has another type.
    pub(crate) async fn remove_empty_stream(&self) -> Result<(i64, i64), BucketError> {
        Ok(self.store.run_durably(&SCRIPT.on(&[self.keys.jobs()])).await?)
    }
}
