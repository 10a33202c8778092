//! Which buckets have schedules, and when they last changed, so that an intake makes one query a second for all
//! buckets.

use std::collections::HashMap;

use dripfeed_store::{InstallationKeys, Script, Store};
use redis::Value;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static NOTE: Script = Script::new("note_schedules", SHARED, include_str!("note_schedules.lua"));
static CHANGES: Script = Script::new("schedule_changes", SHARED, include_str!("schedule_changes.lua"));

/// The field with the number of the last change of all: no bucket has this name.
const ALL: &str = "@";

/// The changes of all schedules of an installation, as far as this process knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleChanges {
    all: u64,
    /// By the name of a bucket that has, or had, schedules: the number of their last change. Changes of all buckets are
    /// counted together, so that a bucket that was deleted and created again has another number.
    pub of: HashMap<String, u64>,
}

impl ScheduleChanges {
    /// None: there are no others than these.
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
    /// To be called after a change: intakes that looked before it look again. Where this gets lost, they see the change
    /// some seconds later, at their periodic look at the buckets that were noted before, and minutes later for others.
    pub(crate) async fn note_schedules(&self) -> Result<(), BucketError> {
        self.note(false).await
    }

    /// Notes schedules of which intakes don't know: a Redis that took over, in a Cluster one of another node than the
    /// bucket's, may have lost the note.
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

    /// Takes back what was noted of a bucket that was deleted meanwhile. One that was created again may have some.
    pub(crate) async fn forget_schedules_if_none(&self) -> Result<(), BucketError> {
        if self.number_of_schedules().await? == 0 { self.forget_schedules().await } else { Ok(()) }
    }

    /// To be called at its deletion: who creates and deletes buckets doesn't leave their names in Redis.
    pub(crate) async fn forget_schedules(&self) -> Result<(), BucketError> {
        self.note(true).await
    }

    async fn note(&self, is_deleted: bool) -> Result<(), BucketError> {
        let store = self.redis_bucket.store.clone();
        let key = InstallationKeys::new(store.prefix()).schedules;
        // In a Cluster it is on another node than the bucket.
        let store = store.for_key(&key);
        let mut call = NOTE.on(&[key]);
        call.arg(self.name().as_str()).arg(u8::from(is_deleted));
        store.run::<u64>(&call).await?;
        Ok(())
    }
}
