//! Counts the jobs of a bucket at one moment, and returns its rates.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_job::{Ending, JobId};
use dripfeed_store::Call;

use crate::admission::RefusalReason;
use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::history::recent_calls::RecentCalls;
use crate::history::recent_events::RecentEvents;
use crate::pace::PaceTarget;
use crate::script::constants::PARKED_OWNER;
use crate::script::pace_constants::{CUT_FOR_TIMEOUTS, PACE_WHOLE};
use crate::script::redis_bucket::{EffectiveSettings, EffectiveState, RedisBucket, WaitFor};
use crate::script::reply::Reply;
use crate::script::scripts::Scripts;
use crate::settings::limits::BucketLimits;
use crate::settings::max_share::MaxShare;
use crate::settings::overrides::Overrides;
use crate::settings::{BucketSettings, Kind};

static SCRIPTS: Scripts = Scripts::new("census", include_str!("census.lua"));

/// The minimum window of a rate in µs. Over a shorter one, rates would fluctuate.
const LEAST_WINDOW_US: u64 = 1_000_000;
/// In µs, as in counts.lua.
const METER_WINDOW_US: u64 = 5_000_000;
/// A parked job that is due within this time is due soon: a processor that is started for it is ready by then.
pub(crate) const SOON: Duration = Duration::from_secs(30);
/// After this time without a heartbeat a process is silent if Redis has no time for it: standby, earlier versions.
const USUALLY_LASTS: Duration = Duration::from_mins(3);
/// If the next token comes later than this, the rate is reported as used up.
const USED_UP: Duration = Duration::from_secs(2);

#[derive(Clone, Debug)]
pub struct Census {
    pub level: u64,
    pub capacity: u64,
    pub bytes: u64,
    pub capacity_bytes: u64,
    /// The maximum share of one caller. `None` without a limit.
    pub max_share: Option<MaxShare>,
    pub limits: BucketLimits,
    pub waiting: u64,
    pub in_flight: u64,
    pub parked: u64,
    /// Parked jobs that are due within 30 seconds.
    pub due_soon: u64,
    pub dead: u64,
    /// Age of the oldest job. `None` if the bucket is empty.
    pub oldest_age: Option<Duration>,
    pub accepted_per_s: f64,
    pub refused_per_s: f64,
    pub settled_per_s: f64,
    pub pace: Pace,
    pub paused: bool,
    /// Including replicas on standby.
    pub replicas: Vec<ReplicaCensus>,
    /// The settings in force, including changes at run time.
    pub settings: Arc<BucketSettings>,
    /// Settings changed at run time that differ from the configuration.
    pub overrides: Overrides,
    /// The version of the changes at run time: another one after each change, pause and resume. Empty before the first.
    pub version: String,
    /// Since the bucket was created.
    pub accepted: u64,
    pub refused: Vec<(RefusalReason, u64)>,
    pub ended: Vec<(Ending, u64)>,
    pub recovered: u64,
    /// Bytes of all dead letters.
    pub dead_bytes: u64,
    /// Since the bucket was created: dead letters deleted at the maximum number, bytes or age, and replayed ones.
    pub dead_dropped: u64,
    pub dead_replayed: u64,
    /// Outcome jobs in the outbox.
    pub outbox: u64,
    /// Outcome jobs larger than the `capacity_bytes` of their target bucket, at the last pass over the outbox.
    pub outbox_oversized: u64,
    /// Outcome jobs moved to their target buckets, since the bucket was created.
    pub outbox_handed_over: u64,
    /// Outcomes without an outcome job, because the chain was at its maximum length.
    pub outbox_chains: u64,
    /// Calls of the last one to two minutes.
    pub recent_calls: RecentCalls,
    /// New dead letters of the last one to two minutes.
    pub recent_dead: u64,
}

#[derive(Clone, Debug)]
pub struct Pace {
    /// `None` if no rate is set.
    pub target: Option<PaceTarget>,
    /// `None` if no rate is set and none was measured.
    pub effective_per_s: Option<f64>,
    /// The reason for the effective rate: `target`, `held` (the upstream asked to wait), `used_up` (no call is allowed
    /// for more than 2 s), `refusals` or `timeouts` (the rate was reduced for these, and recovers), `paused`,
    /// `dead_full` (no room for dead letters), `outbox_full` (no room for outcome jobs), `no_rate`.
    pub reason: &'static str,
    /// Remaining time of a throttle.
    pub throttled_for: Option<Duration>,
    /// Available rate tokens. `None` if no rate is set.
    pub tokens: Option<u64>,
    /// Time until the rate allows a call.
    pub next_call: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaCensus {
    pub consumer: String,
    pub in_flight: u64,
    /// When the replica joined, ms since the epoch. `None` if it is on standby, or of an earlier version.
    pub joined_ms: Option<u64>,
    /// Time since its latest heartbeat. `None` if unknown.
    pub heartbeat_age: Option<Duration>,
    /// No heartbeat came within the lease: the replica has died, is suspended, or can't reach Redis.
    pub is_silent: bool,
}

impl Census {
    /// Returns the number of replicas that aren't silent, including those on standby.
    #[must_use]
    pub fn alive(&self) -> usize {
        self.replicas.iter().filter(|replica| !replica.is_silent).count()
    }
}

impl Bucket {
    /// Counts jobs, and returns rates and replicas.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn census(&self) -> Result<Census, BucketError> {
        let (effective, reply) = self.counted().await?;
        read(reply, &effective, None)
    }

    /// As [`Bucket::census`], but with the settings right after `change`, even if they were changed again since.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn census_after(&self, change: &EffectiveState) -> Result<Census, BucketError> {
        let (_, reply) = self.counted().await?;
        read(reply, &change.effective, Some(change.is_paused))
    }

    async fn counted(&self) -> Result<(Arc<EffectiveSettings>, Reply), BucketError> {
        let takers = match self.redis_bucket.kind {
            Kind::Stream => Vec::new(),
            Kind::List => self.redis_bucket.takers().await?,
        };
        let call = |effective: &EffectiveSettings| self.redis_bucket.census_call(effective, &takers);
        self.redis_bucket.run_with_settings("census", WaitFor::Reply, call).await
    }
}

impl RedisBucket {
    fn census_call(&self, effective: &EffectiveSettings, takers: &[String]) -> Call<'static> {
        let keys = &self.keys;
        let common = vec![
            keys.jobs(),
            keys.pace(),
            keys.meter(),
            keys.tally(),
            keys.control(),
            keys.dead(),
            keys.replicas(),
            keys.standby(),
            keys.members(),
            // Even without on_outcome: earlier settings may have left outcome jobs.
            keys.outbox(),
            keys.history(),
        ];
        let (mut all, plan) = self.pack_pace(effective, common);
        match self.kind {
            Kind::Stream => all.extend(keys.in_order()),
            Kind::List => {
                all.extend(takers.iter().map(|consumer| keys.taken(consumer)));
                all.push(keys.takers());
            }
        }
        let mut call = SCRIPTS.of(self.kind).on(&all);
        call.arg(&effective.version).arg(&plan[..]).arg(SOON.as_millis()).arg(RecentEvents::windows());
        call
    }
}

/// `is_paused`: whether the bucket is paused by the change. `None` for the current state.
fn read(mut reply: Reply, effective: &EffectiveSettings, is_paused: Option<bool>) -> Result<Census, BucketError> {
    let now_us = reply.count()?;
    let (level, parked, due_soon) = (reply.count()?, reply.count()?, reply.count()?);
    let (claimed, dead) = (reply.count()?, reply.count()?);
    let oldest = reply.text()?.parse::<JobId>().ok();
    let tokens = u64::try_from(reply.number()?).ok();
    let next_token = Duration::from_micros(reply.count()?);
    let throttled_until_ms = reply.count()?;
    let (speed, why) = (reply.parse::<f64>()?, reply.text()?);
    let replicas = read_replicas(reply.array()?, now_us / 1000)?;
    let tally: HashMap<_, _> = reply.array()?.fields()?.into_iter().collect();
    let meter: HashMap<_, _> = reply.array()?.fields()?.into_iter().collect();
    let is_paused_now = reply.count()? == 1;
    let paused = is_paused.unwrap_or(is_paused_now);
    let outbox = reply.count()?;
    let mut slots = reply.array()?;
    let slots = [slots.shown()?, slots.shown()?, slots.shown()?];

    let count = |name: &str| tally.get(name).and_then(|value| value.parse::<i64>().ok()).unwrap_or(0);
    let total = |name: &str| u64::try_from(count(name)).unwrap_or(0);
    let per_s = |series: &str| meter.get(series).map_or(0.0, |text| per_second(text, now_us));
    let throttled_for = Duration::from_millis(throttled_until_ms)
        .checked_sub(Duration::from_micros(now_us))
        .filter(|left| !left.is_zero());
    let settings = &effective.settings;
    let target = PaceTarget::of(&settings.leak);
    let (effective_per_s, reason) = match (&target, throttled_for) {
        _ if paused => (Some(0.0), "paused"),
        _ if settings.dead_full_from().is_reached(dead, total("dead_bytes")) => (Some(0.0), "dead_full"),
        _ if settings.outbox_full_from().is_reached(outbox, total("outbox_bytes")) => (Some(0.0), "outbox_full"),
        (_, Some(_)) => (Some(0.0), "held"),
        (Some(_), None) if next_token > USED_UP => (Some(0.0), "used_up"),
        (Some(target), None) if settings.leak.adaptive && speed < PACE_WHOLE => {
            (Some(target.per_second * speed / PACE_WHOLE), slowed_by(&why))
        }
        (Some(target), None) => (Some(target.per_second), "target"),
        (None, None) => (meter.get("settled").map(|text| per_second(text, now_us)), "no_rate"),
    };
    let recent = RecentEvents::of_slots(&slots, Duration::from_micros(now_us));
    Ok(Census {
        level,
        capacity: settings.capacity,
        bytes: total("bytes"),
        capacity_bytes: settings.capacity_bytes,
        max_share: settings.max_share,
        limits: effective.limits.clone(),
        waiting: level.saturating_sub(claimed),
        in_flight: claimed.saturating_sub(parked),
        parked,
        due_soon,
        dead,
        oldest_age: oldest.map(|id| Duration::from_millis((now_us / 1000).saturating_sub(id.accepted_ms()))),
        accepted_per_s: per_s("accepted"),
        refused_per_s: per_s("refused"),
        settled_per_s: per_s("settled"),
        pace: Pace { target, effective_per_s, reason, throttled_for, tokens, next_call: next_token },
        paused,
        replicas,
        settings: Arc::clone(settings),
        overrides: effective.overrides.clone(),
        version: effective.version.clone(),
        accepted: total("accepted"),
        refused: RefusalReason::ALL.map(|reason| (reason, total(&format!("refused:{}", reason.word())))).to_vec(),
        ended: Ending::ALL.map(|ending| (ending, total(ending.as_str()))).to_vec(),
        recovered: total("recovered"),
        dead_bytes: total("dead_bytes"),
        dead_dropped: total("dead_dropped"),
        dead_replayed: total("replayed"),
        outbox,
        outbox_oversized: total("outbox_oversized"),
        outbox_handed_over: total("outbox_handed_over"),
        outbox_chains: total("outbox_chains"),
        recent_calls: recent.calls,
        recent_dead: recent.dead,
    })
}

fn slowed_by(why: &str) -> &'static str {
    if why == CUT_FOR_TIMEOUTS { "timeouts" } else { "refusals" }
}

fn read_replicas(mut reply: Reply, now_ms: u64) -> Result<Vec<ReplicaCensus>, BucketError> {
    let mut replicas = Vec::new();
    while !reply.is_empty() {
        let (consumer, in_flight, times) = (reply.shown()?, reply.count()?, reply.text()?);
        if consumer != PARKED_OWNER {
            let mut times = times.split(' ').map(|ms| ms.parse::<u64>().ok());
            let joined_ms = times.next().flatten().filter(|ms| *ms > 0);
            // If the clock was set back, the age is 0.
            let heartbeat_age = times.next().flatten().map(|ms| Duration::from_millis(now_ms.saturating_sub(ms)));
            let lasts = times.next().flatten().map_or(USUALLY_LASTS, Duration::from_millis);
            let is_silent = heartbeat_age.is_some_and(|age| age > lasts);
            replicas.push(ReplicaCensus { consumer, in_flight, joined_ms, heartbeat_age, is_silent });
        }
    }
    replicas.sort_by(|a: &ReplicaCensus, b| a.consumer.cmp(&b.consumer));
    Ok(replicas)
}

/// Returns the rate of a series of counts.lua, `t0 c0 t1 c1 c`. If no event came for more than a window, the rate is at
/// most one event in that time. Before that it isn't limited, because a large batch may be on its way.
#[expect(clippy::cast_precision_loss, reason = "counts and µs stay far below 2^53")]
fn per_second(series: &str, now_us: u64) -> f64 {
    let numbers: Vec<u64> = series.split(' ').filter_map(|number| number.parse().ok()).collect();
    let [mut t0, mut c0, t1, c1, c] = numbers[..] else { return 0.0 };
    // After a gap between the checkpoints, only the events since the second one count, if there are more than one.
    if t1.saturating_sub(t0) > 2 * METER_WINDOW_US && c > c1 + 1 {
        (t0, c0) = (t1, c1);
    }
    let window = now_us.saturating_sub(t0).max(LEAST_WINDOW_US);
    let rate = c.saturating_sub(c0) as f64 * 1e6 / window as f64;
    // An event later than a window after the second checkpoint would have moved it, so none came since.
    let silence = now_us.saturating_sub(t1).saturating_sub(METER_WINDOW_US);
    if silence > METER_WINDOW_US { rate.min(1e6 / silence as f64) } else { rate }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_tells_its_rate_over_its_window() {
        let close = |left: f64, right: f64| (left - right).abs() < 1e-9;
        assert!(close(per_second("0 0 5000000 50 80", 10_000_000), 8.0));
        assert!(close(per_second("0 10 0 10 20", 100), 10.0));
        assert!(close(per_second("broken", 100), 0.0));
        // 11,000 events at once, and none since.
        let burst = "0 0 0 0 11000";
        assert!(close(per_second(burst, 5_000_000), 2200.0));
        assert!(close(per_second(burst, 160_000_000), 1.0 / 155.0));
        // Batches of 40 every two seconds, of which the last one moved no checkpoint.
        assert!(close(per_second("0 0 5000000 100 200", 11_900_000), 200.0 / 11.9));
        // Twenty a second, for two seconds, behind a gap of a hundred.
        assert!(close(per_second("0 0 100000000 5 45", 102_000_000), 20.0));
        // One a minute stays one a minute.
        assert!(close(per_second("0 0 60000000 1 2", 110_000_000), 2.0 / 110.0));
    }
}
