//! Stores which buckets have schedules, and the number of their last change, so that an intake makes one query a second
//! for all buckets.

use std::collections::HashMap;

use dripfeed_store::{InstallationKeys, Script, Store};
use redis::Value;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static NOTE: Script = Script::new("note_schedules", SHARED, include_str!("note_schedules.lua"));
static CHANGES: Script = Script::new("schedule_changes", SHARED, include_str!("schedule_changes.lua"));

/// The field with the number of the last change in any bucket. It isn't a valid name of a bucket.
const ALL: &str = "@";

/// The changes of the schedules of an installation that this process knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleChanges {
    all: u64,
    /// The number of the last change, by the name of a bucket that has or had schedules. One counter numbers the
    /// changes of all buckets, so that a bucket that was deleted and created again has another number.
    pub of: HashMap<String, u64>,
}

impl ScheduleChanges {
    /// Returns the present changes, or `None` if nothing has changed since `self` was read.
    ///
    /// # Errors
    /// When Redis can't be asked.
    pub async fn newer(&self, store: &Store) -> Result<Option<Self>, BucketError> {
        let mut call = CHANGES.on(&[InstallationKeys::new(store.prefix()).schedules]);
        call.arg(self.all);
        let changes = Reply::new("schedule_changes", store.run::<Value>(&call).await?)?.fields()?;
        if changes.is_empty() {
            return Ok(None);
        }
        let mut of: HashMap<String, u64> =
            changes.into_iter().filter_map(|(bucket, number)| Some((bucket, number.parse().ok()?))).collect();
        let all = of.remove(ALL).unwrap_or(0);
        Ok(Some(Self { all, of }))
    }
}

impl Bucket {
    /// To be called after a change, so that intakes read the schedules again. If the note gets lost, they see the
    /// change seconds later in buckets that were noted before, and minutes later in others.
    pub(crate) async fn note_schedules(&self) -> Result<(), BucketError> {
        self.note(false).await
    }

    /// Notes the bucket's schedules if it has any. A failover of Redis may have lost the note, in a Cluster on another
    /// node than the bucket's.
    ///
    /// # Errors
    /// When Redis can't be asked.
    pub async fn note_schedules_if_any(&self) -> Result<(), BucketError> {
        let mut exists = redis::cmd("EXISTS");
        exists.arg(self.redis_bucket.keys.next_ticks());
        if self.redis_bucket.store.command(&exists).await? {
            self.note_schedules().await?;
        }
        Ok(())
    }

    /// Removes the note of a bucket that was deleted, unless it was created again and has schedules.
    pub(crate) async fn forget_schedules_if_none(&self) -> Result<(), BucketError> {
        if self.number_of_schedules().await? == 0 { self.forget_schedules().await } else { Ok(()) }
    }

    /// To be called when the bucket is deleted, so that its name doesn't stay in Redis.
    pub(crate) async fn forget_schedules(&self) -> Result<(), BucketError> {
        self.note(true).await
    }

    async fn note(&self, is_deleted: bool) -> Result<(), BucketError> {
        let store = self.redis_bucket.store.clone();
        let key = InstallationKeys::new(store.prefix()).schedules;
        // In a Cluster the key may be on another node than the bucket.
        let store = store.for_key(&key);
        let mut call = NOTE.on(&[key]);
        call.arg(self.name().as_str()).arg(u8::from(is_deleted));
        store.run::<u64>(&call).await?;
        Ok(())
    }
}
