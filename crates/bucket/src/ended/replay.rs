//! Replay: submits a dead letter as a new job, within capacity and rate limit.

use std::time::Duration;

use bytes::Bytes;
use dripfeed_job::entry::{self, NewEntry};
use dripfeed_job::{JobId, Rate, Submission};
use dripfeed_store::Call;
use http::header::CONTENT_ENCODING;

use crate::admission::{Admitted, RefusalReason, Refused};
use crate::bucket::Bucket;
use crate::ended::dead_letters::{DeadFilter, REPLAY_OF};
use crate::ended::replays::replay_task::ReplayId;
use crate::error::BucketError;
use crate::script::redis_bucket::{EffectiveSettings, RedisBucket, WaitFor};
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
        Ok(self.redis_bucket.replay(id, Duration::ZERO, None, None).await?.unwrap_or(ReplayResult::Unknown))
    }

    /// Like [`Bucket::replay`], with another payload. The new job references the old one. List buckets, and jobs that
    /// can't be parsed, aren't supported. `content_type` `None` is unchanged, `content_encoding` `None` is removed.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn replay_edited(
        &self,
        id: JobId,
        body: Bytes,
        content_type: Option<String>,
        content_encoding: Option<&str>,
    ) -> Result<ReplayResult, BucketError> {
        if self.redis_bucket.kind == Kind::List {
            return Err(BucketError::Unsupported("replays with another payload"));
        }
        let Some((_, fields)) = self.redis_bucket.letter_of(id).await? else { return Ok(ReplayResult::Unknown) };
        let mut died = entry::decode(id, &fields)
            .map_err(|_| BucketError::Edit("it is no job that dripfeed has submitted".to_owned()))?;
        died.headers.remove(&CONTENT_ENCODING);
        if let Some(encoding) = content_encoding {
            let pushed = died.headers.push(CONTENT_ENCODING.as_str(), encoding);
            pushed.map_err(|error| BucketError::Edit(error.to_string()))?;
        }
        let edited = Submission {
            body,
            content_type: content_type.or(died.content_type),
            method: died.method,
            path: died.path,
            headers: died.headers,
            caller: died.caller,
            traceparent: died.traceparent,
            retries: died.retries,
            timeout: died.timeout,
            priority: died.priority,
            group: died.group,
            chain: died.chain,
            ..Submission::default()
        };
        let mut edited = entry::encode(&edited);
        edited.options.push((REPLAY_OF, id.to_string()));
        let replayed = self.redis_bucket.replay(id, Duration::ZERO, None, Some(&edited)).await?;
        Ok(replayed.unwrap_or(ReplayResult::Unknown))
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
            let replayed = self.redis_bucket.replay(*id, delay, None, None).await;
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
        edited: Option<&NewEntry<'_>>,
    ) -> Result<Option<ReplayResult>, BucketError> {
        let (effective, mut reply) = self
            .run_with_settings("replay", WaitFor::Durability, |effective| {
                self.replay_call(effective, id, delay, part_of, edited)
            })
            .await?;
        let capacity = effective.settings.capacity;
        let replayed = match reply.text()?.as_str() {
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

    fn replay_call(
        &self,
        effective: &EffectiveSettings,
        id: JobId,
        delay: Duration,
        part_of: Option<ReplayId>,
        edited: Option<&NewEntry<'_>>,
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
        let (all, plan) = effective.pack_pace(common);
        let mut call = REPLAY.of(self.kind, effective.pace.is_some()).on(&keys.and_level(all));
        call.arg(&effective.version).arg(id.to_string()).arg(settings.capacity).arg(settings.capacity_bytes);
        call.arg(&plan[..]).arg(&effective.share_of_one).arg(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        call.arg(part_of.map_or_else(String::new, |replay| replay.to_string()));
        for (name, value) in edited.into_iter().flat_map(NewEntry::fields) {
            call.arg(name).arg(value);
        }
        call
    }
}
