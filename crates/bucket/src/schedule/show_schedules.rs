//! Shows a schedule, and lists schedules in the order of their ids.

use dripfeed_job::schedule::ScheduleId;
use dripfeed_store::Script;
use redis::Value;

use super::known_schedule::KnownSchedule;
use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::inspect::pagination::{Cursor, Page};
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("show_schedules", SHARED, include_str!("show_schedules.lua"));

const LIST: &str = "schedules";

impl Bucket {
    /// Returns the Redis clock in ms, and the schedule if it exists.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn schedule(&self, id: &ScheduleId) -> Result<(u64, Option<KnownSchedule>), BucketError> {
        let (now_ms, _, mut found) = self.redis_bucket.show_schedules(&[id.as_str()]).await?;
        Ok((now_ms, found.pop()))
    }

    /// Returns the number of schedules in the bucket.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn number_of_schedules(&self) -> Result<u64, BucketError> {
        let schedules = self.redis_bucket.keys.schedules();
        Ok(self.redis_bucket.store.command(redis::cmd("HLEN").arg(schedules)).await?)
    }

    /// Returns a page of schedules. It ends early when its definitions have as many bytes as one script may read.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; for a cursor of another list.
    pub async fn schedules(&self, after: Option<&Cursor>, limit: usize) -> Result<Page<KnownSchedule>, BucketError> {
        let name = self.name().as_str();
        let after = after.map(|cursor| cursor.position::<String>(LIST, name)).transpose()?;
        let mut ids: Vec<String> =
            self.redis_bucket.store.command(redis::cmd("HKEYS").arg(self.redis_bucket.keys.schedules())).await?;
        ids.retain(|id| after.as_ref().is_none_or(|after| id > after));
        ids.sort_unstable();
        let of_page: Vec<&str> = ids.iter().take(limit).map(String::as_str).collect();
        if of_page.is_empty() {
            return Ok(Page { items: Vec::new(), next: None });
        }
        let (_, looked, items) = self.redis_bucket.show_schedules(&of_page).await?;
        let last = ids.get(looked.max(1) - 1).filter(|_| looked < ids.len());
        Ok(Page { items, next: last.map(|last| Cursor::new(LIST, name, last)) })
    }
}

impl RedisBucket {
    /// Returns the Redis clock in ms, how many of the ids were looked up, and the schedules that exist.
    pub(crate) async fn show_schedules(&self, ids: &[&str]) -> Result<(u64, usize, Vec<KnownSchedule>), BucketError> {
        let keys = &self.keys;
        let mut call = SCRIPT.on(&[keys.schedules(), keys.next_ticks(), keys.schedule_states()]);
        call.args(ids);
        let mut reply = Reply::new("show_schedules", self.store.run::<Value>(&call).await?)?;
        let (now_ms, looked) = (reply.count()?, usize::try_from(reply.count()?).unwrap_or(0));
        let mut found = Vec::new();
        while !reply.is_empty() {
            let mut one = reply.array()?;
            let (id, definition, state, next) = (one.shown()?, one.text()?, one.shown()?, one.number()?);
            found.extend(KnownSchedule::read(&id, definition, &state, next));
        }
        Ok((now_ms, looked, found))
    }
}
