//! Ends jobs whose deadline has passed without a take: in a bucket that is paused, throttled or without a processor, or
//! behind many other jobs. (A take ends the overdue jobs that it reaches.)

pub(crate) mod look;

use std::mem;

use dripfeed_store::Call;

use self::look::ExpiryScan;
use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::Scripts;

static SCRIPTS: Scripts = Scripts::of_kinds(
    "expire",
    include_str!("../kind/stream/remove/expire.lua"),
    include_str!("../kind/list/remove/expire.lua"),
);

/// Maximum calls in one round, each of which checks up to 200 jobs. The next round continues.
const CALLS: usize = 25;

impl RedisBucket {
    /// To be called when the earliest noted deadline has passed. Returns how many jobs have expired.
    pub(crate) async fn expire_overdue(&self) -> Result<u64, BucketError> {
        let mut expired = 0;
        let mut look = mem::take(&mut *self.expiry_look.lock());
        for _ in 0..CALLS {
            let mut reply = Reply::new("expire", self.store.run_durably(&self.expire_call(&look)).await?)?;
            expired += reply.count()?;
            let goes_on = reply.count()? == 1;
            look = ExpiryScan { at: reply.text()?, earliest: reply.text()? };
            if !goes_on {
                break;
            }
        }
        *self.expiry_look.lock() = look;
        Ok(expired)
    }

    fn expire_call(&self, look: &ExpiryScan) -> Call<'static> {
        let settings = self.settings();
        let keys = self.keys.and_takers(self.keys.to_cancel(&settings.on_outcome));
        let mut call = SCRIPTS.of(self.kind).on(&keys);
        call.arg(settings.packed_ends()).arg(&look.at).arg(&look.earliest);
        call
    }
}
