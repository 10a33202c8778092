//! Replay: submits a dead letter as a new job, within capacity and rate limit.

mod edited;
mod letter_job;

use std::sync::Arc;
use std::time::Duration;

use dripfeed_job::{JobId, Rate};
use dripfeed_store::Call;

use self::letter_job::{NewFields, fields_in, submission_of};
use crate::admission::{Admitted, RefusalReason, Refused};
use crate::bucket::Bucket;
use crate::ended::dead_letters::DeadFilter;
use crate::ended::replays::replay_task::ReplayId;
use crate::error::BucketError;
use crate::script::redis_bucket::{EffectiveSettings, RedisBucket, WaitFor};
use crate::script::reply::Reply;
use crate::script::scripts::PlannedScripts;
use crate::settings::Kind;

static REPLAY: PlannedScripts = PlannedScripts::new("replay", include_str!("replay.lua"));

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayResult {
    As(Admitted),
    Refused(Refused),
    Unknown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayCounts {
    pub replayed: u64,
    /// Matching letters that were not replayed: the bucket, or the share of their caller, was full, or they are larger
    /// than the bucket's capacity.
    pub left: u64,
}

impl Bucket {
    /// Submits the letter as a new job, if the bucket has room.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn replay(&self, id: JobId) -> Result<ReplayResult, BucketError> {
        Ok(self.redis_bucket.replay(id, Duration::ZERO, None, NewFields::new()).await?.unwrap_or(ReplayResult::Unknown))
    }

    /// Submits matching letters as new jobs, oldest first, as far as the bucket has room. With a `rate` each job is
    /// due one interval of the rate after the one before.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; jobs that were submitted until then stay
    /// ([`BucketError::done`]).
    pub async fn replay_many(&self, filter: &DeadFilter, rate: Option<Rate>) -> Result<ReplayCounts, BucketError> {
        if self.redis_bucket.kind == Kind::List && rate.is_some() {
            return Err(BucketError::Unsupported("replays at a rate"));
        }
        let ending = filter.ending_with(self.redis_bucket.newest_letter().await?);
        let ids = self.redis_bucket.dead_ids(filter, &ending).await?;
        let mut done = ReplayCounts::default();
        for (number, id) in ids.iter().enumerate() {
            let delay = rate.map_or(Duration::ZERO, |rate| {
                Duration::from_micros(done.replayed.saturating_mul(rate.period_us()) / rate.limit())
            });
            let replayed = self.redis_bucket.replay(*id, delay, None, NewFields::new()).await;
            match replayed.map_err(|error| error.after(done.replayed))?.unwrap_or(ReplayResult::Unknown) {
                ReplayResult::As(_) => done.replayed += 1,
                ReplayResult::Refused(refused) if refused.is_of_one_letter() => done.left += 1,
                ReplayResult::Refused(_) => {
                    done.left += (ids.len() - number) as u64;
                    break;
                }
                // Another call has replayed or deleted it.
                ReplayResult::Unknown => {}
            }
        }
        Ok(done)
    }
}

impl Refused {
    /// Whether other letters may still be replayed, because they have another caller or another size.
    pub(super) const fn is_of_one_letter(&self) -> bool {
        matches!(self.reason, RefusalReason::ShareUsedUp | RefusalReason::NeverFits)
    }
}

impl RedisBucket {
    /// Submits the dead letter of job `id`, or `edited` in its place, as a new job that is due after `delay`. Returns
    /// `None` if the background replay `part_of` has ended.
    pub(super) async fn replay(
        &self,
        id: JobId,
        delay: Duration,
        part_of: Option<ReplayId>,
        edited: NewFields,
    ) -> Result<Option<ReplayResult>, BucketError> {
        let (mut effective, mut reply) = self.ask_to_replay(id, delay, part_of, &edited).await?;
        let mut word = reply.text()?;
        if word == "other_kind" {
            let Some((_, letter)) = self.letter_of(id).await? else { return Ok(Some(ReplayResult::Unknown)) };
            // What can't be parsed stays: it wouldn't be called.
            let Ok(job) = submission_of(id, letter) else { return Ok(Some(ReplayResult::Unknown)) };
            (effective, reply) = self.ask_to_replay(id, delay, part_of, &fields_in(self.kind, job)).await?;
            word = reply.text()?;
        }
        let capacity = effective.settings.capacity;
        let replayed = match word.as_str() {
            "ended" => return Ok(None),
            "absent" => ReplayResult::Unknown,
            "admitted" => {
                let (id, level, eta) = (reply.parse()?, reply.count()?, Duration::from_millis(reply.count()?));
                ReplayResult::As(Admitted { id, level, capacity, eta, room_in: None, repeated: false })
            }
            word => {
                let known = [RefusalReason::BucketFull, RefusalReason::ShareUsedUp, RefusalReason::NeverFits]
                    .into_iter()
                    .find(|reason| reason.word() == word);
                let Some(reason) = known else { return reply.unknown(word) };
                // -1: the letter isn't accepted later, either.
                let retry_after = u64::try_from(reply.number()?).ok().map(Duration::from_millis);
                ReplayResult::Refused(Refused { reason, retry_after, level: reply.count()?, capacity })
            }
        };
        Ok(Some(replayed))
    }

    async fn ask_to_replay(
        &self,
        id: JobId,
        delay: Duration,
        part_of: Option<ReplayId>,
        edited: &NewFields,
    ) -> Result<(Arc<EffectiveSettings>, Reply), BucketError> {
        let call = |effective: &EffectiveSettings| self.replay_call(effective, id, delay, part_of, edited);
        self.run_with_settings("replay", WaitFor::Durability, call).await
    }

    fn replay_call(
        &self,
        effective: &EffectiveSettings,
        id: JobId,
        delay: Duration,
        part_of: Option<ReplayId>,
        edited: &NewFields,
    ) -> Call<'static> {
        let (keys, settings) = (&self.keys, &effective.settings);
        let common = vec![
            keys.jobs(),
            keys.pace(),
            keys.meter(),
            keys.tally(),
            keys.control(),
            keys.dead(),
            keys.letters(),
            keys.letter_sizes(),
            keys.holders(),
            keys.replays(),
            keys.notices(),
        ];
        let (all, plan) = self.pack_pace(effective, common);
        let mut call = REPLAY.of(self.kind, effective.pace.is_some()).on(&keys.and_level(all));
        call.arg(&effective.version).arg(id.to_string()).arg(settings.capacity).arg(settings.capacity_bytes);
        call.arg(&plan[..]).arg(&effective.share_of_one).arg(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        call.arg(part_of.map_or_else(String::new, |replay| replay.to_string())).arg(self.kind.as_str());
        for (name, value) in edited {
            call.arg(*name).arg(value);
        }
        call
    }
}
