//! The state of a bucket: level, rates and settings.

pub(crate) mod needs;
pub(crate) mod row;

use std::collections::BTreeMap;

use dripfeed_bucket::{
    Bucket, BucketError, Census, EffectiveState, MaxShare, Overrides, Pace, RecentCalls, RefusalReason, ReplicaCensus,
};
use dripfeed_job::BucketName;
use dripfeed_job::duration::ms_up;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use self::needs::{Need, Needs};
use crate::openapi::rules::Policy;
use crate::problem::Problem;
use crate::request::time;

/// How many buckets one request reads concurrently. Limited, so that other requests don't wait long.
pub(crate) const READ_AT_ONCE: usize = 64;

/// A bucket at one moment.
#[derive(Serialize, ToSchema)]
#[schema(as = Bucket)]
pub(crate) struct BucketState {
    #[schema(value_type = String)]
    name: BucketName,
    /// `stream` or `list`.
    kind: &'static str,
    /// Jobs in the bucket: waiting, in flight and parked.
    pub(crate) level: u64,
    pub(crate) capacity: u64,
    bytes: u64,
    capacity_bytes: u64,
    /// The maximum share of the capacity, in jobs and in bytes, for the jobs of one caller, such as `25%`; or `free`:
    /// as much as there is free room; null: no limit.
    #[schema(value_type = Option<String>, required)]
    max_share: Option<MaxShare>,
    /// The rate limits of submissions.
    #[schema(value_type = Vec<Policy>)]
    limits: Vec<Value>,
    waiting: u64,
    in_flight: u64,
    parked: u64,
    /// Dead letters.
    pub(crate) dead: u64,
    /// Bytes of all dead letters.
    dead_bytes: u64,
    /// Outcome jobs that wait for room in their target bucket.
    outbox: u64,
    /// Those of them that are larger than the `capacity_bytes` of their target bucket: they wait until that is raised.
    pub(crate) outbox_oversized: u64,
    /// Age of the oldest job in the bucket; null when it is empty.
    #[schema(required)]
    oldest_age_ms: Option<u64>,
    pub(crate) accepted_per_s: f64,
    pub(crate) refused_per_s: f64,
    pub(crate) settled_per_s: f64,
    pace: PaceState,
    /// Calls of the last one to two minutes by the class of the upstream's answer: `2xx`, `3xx`, `4xx`, `429`, `5xx`,
    /// or `none` without a complete one. Classes without calls are omitted.
    #[schema(value_type = std::collections::BTreeMap<String, u64>, example = json!({ "2xx": 57, "none": 3 }))]
    recent_answers: Map<String, Value>,
    /// Dead letters added in the last one to two minutes.
    pub(crate) recent_dead: u64,
    pub(crate) paused: bool,
    /// Including replicas on standby.
    replicas: Vec<ReplicaState>,
    totals: Totals,
    /// What needs an operator now: `dead_full` or `outbox_full` (calls are stopped for that), `outbox_oversized`,
    /// `no_processor` (there are jobs, and no replica, or only silent ones), `failing` (of at least 5 calls in the last
    /// one to two minutes half or more got neither a 2xx nor a 429, and the same holds for this minute's once there are
    /// 5), `refusing` (it is nearly full, and jobs are refused).
    #[schema(value_type = Vec<String>, example = json!(["no_processor"]))]
    pub(crate) problems: Vec<Need>,
    /// What may need one soon: `paused` with jobs that wait, `throttled` for more than 5 minutes, `nearly_full` (90 %
    /// of `capacity` or of `capacity_bytes`), `dead_rising` (some were added in the last one to two minutes), or else
    /// `dead_letters`.
    #[schema(value_type = Vec<String>, example = json!(["dead_letters"]))]
    pub(crate) warnings: Vec<Need>,
    /// Settings changed at run time, by their PATCH names.
    #[schema(value_type = std::collections::BTreeMap<String, Value>)]
    changes: Value,
    /// Of the run-time changes (`buckets/version.rs`).
    #[serde(skip)]
    pub(super) version: String,
}

/// How fast a bucket leaks.
#[derive(Serialize, ToSchema)]
#[schema(as = Pace)]
struct PaceState {
    /// The configured rate, such as `200/500ms`, or with tiers `10/s, fixed 10000/24h`; null: unlimited.
    #[schema(required)]
    target: Option<String>,
    #[schema(required)]
    effective_per_s: Option<f64>,
    /// The reason for the effective rate: `target`, `held` (throttled by the upstream), `used_up` (a tier's quota is
    /// used up), `refusals` or `timeouts` (the rate was reduced because of them, and recovers), `paused`, `dead_full`
    /// (see keep.when_dead_full), `outbox_full` (outcome jobs wait for room in other buckets) or `no_rate`.
    reason: &'static str,
    /// Remaining time of a throttle that the upstream asked for.
    #[schema(required)]
    held_for_ms: Option<u64>,
    /// Time until the quota allows a call again, if the reason is `used_up`.
    #[schema(required, example = 3_600_000)]
    used_up_for_ms: Option<u64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Replica)]
struct ReplicaState {
    consumer: String,
    /// Its concurrent calls.
    in_flight: u64,
    /// When it became a member. Null: it is on standby, or runs an earlier version.
    #[schema(required)]
    since: Option<String>,
    /// Time since its latest heartbeat. A replica on standby that has nothing to do shows itself seldom: its age may be
    /// far above the lease. Null: it runs an earlier version.
    #[schema(required)]
    heartbeat_age_ms: Option<u64>,
    /// No heartbeat came within `processor.lease`: it has died, is suspended, or can't reach Redis. The next replica
    /// requeues its jobs.
    silent: bool,
}

/// Counts since the bucket was created.
#[derive(Serialize, ToSchema)]
struct Totals {
    accepted: u64,
    /// By reason.
    #[schema(value_type = std::collections::BTreeMap<String, u64>)]
    refused: Map<String, Value>,
    /// By outcome.
    #[schema(value_type = std::collections::BTreeMap<String, u64>)]
    ended: Map<String, Value>,
    /// Jobs recovered from dead replicas.
    recovered: u64,
    /// Dead letters deleted at the maximum number, bytes or age.
    dead_dropped: u64,
    dead_replayed: u64,
    /// Outcome jobs moved to their target buckets.
    outbox_handed_over: u64,
    /// Outcomes without an outcome job, because the chain was at its maximum length.
    outbox_chains: u64,
}

impl BucketState {
    pub(crate) async fn of(bucket: &Bucket) -> Result<Self, Problem> {
        Self::read(bucket).await.map_err(Problem::from)
    }

    /// The state after a change, with the settings of the change, even if others have changed them since.
    pub(crate) async fn after(bucket: &Bucket, change: &EffectiveState) -> Result<Self, Problem> {
        let census = bucket.census_after(change).await?;
        Ok(Self::at(bucket.name().clone(), bucket.settings().kind.as_str(), census))
    }

    /// Replicas that aren't silent.
    fn alive(&self) -> usize {
        self.replicas.iter().filter(|replica| !replica.silent).count()
    }

    pub(crate) async fn read(bucket: &Bucket) -> Result<Self, BucketError> {
        let census = bucket.census().await?;
        Ok(Self::at(bucket.name().clone(), bucket.settings().kind.as_str(), census))
    }

    fn at(name: BucketName, kind: &'static str, census: Census) -> Self {
        let Needs { problems, warnings } = Needs::of(&census);
        let totals = Totals {
            accepted: census.accepted,
            refused: refused(&census.refused),
            ended: census.ended.iter().map(|(ending, count)| (ending.to_string(), (*count).into())).collect(),
            recovered: census.recovered,
            dead_dropped: census.dead_dropped,
            dead_replayed: census.dead_replayed,
            outbox_handed_over: census.outbox_handed_over,
            outbox_chains: census.outbox_chains,
        };
        Self {
            name,
            kind,
            level: census.level,
            capacity: census.capacity,
            bytes: census.bytes,
            capacity_bytes: census.capacity_bytes,
            max_share: census.max_share,
            limits: census.limits.document().to_vec(),
            waiting: census.waiting,
            in_flight: census.in_flight,
            parked: census.parked,
            dead: census.dead,
            dead_bytes: census.dead_bytes,
            outbox: census.outbox,
            outbox_oversized: census.outbox_oversized,
            oldest_age_ms: census.oldest_age.map(ms_up),
            accepted_per_s: census.accepted_per_s,
            refused_per_s: census.refused_per_s,
            settled_per_s: census.settled_per_s,
            pace: census.pace.into(),
            recent_answers: by_class(census.recent_calls),
            recent_dead: census.recent_dead,
            paused: census.paused,
            replicas: census.replicas.into_iter().map(ReplicaState::from).collect(),
            totals,
            problems,
            warnings,
            changes: changes(&census.overrides),
            version: census.version,
        }
    }
}

fn by_class(calls: RecentCalls) -> Map<String, Value> {
    calls.by_class().map(|(class, count)| (class.as_str().to_owned(), count.into())).collect()
}

/// Counts by problem code. Several reasons may have the same code.
fn refused(by_reason: &[(RefusalReason, u64)]) -> Map<String, Value> {
    let mut by_code = BTreeMap::<&str, u64>::new();
    for (reason, count) in by_reason {
        *by_code.entry(reason.code()).or_default() += count;
    }
    by_code.into_iter().map(|(code, count)| (code.to_owned(), count.into())).collect()
}

impl From<Pace> for PaceState {
    fn from(pace: Pace) -> Self {
        Self {
            target: pace.target.map(|target| target.text),
            effective_per_s: pace.effective_per_s,
            reason: pace.reason,
            held_for_ms: pace.throttled_for.map(ms_up),
            used_up_for_ms: (pace.reason == "used_up").then(|| ms_up(pace.next_call)),
        }
    }
}

impl From<ReplicaCensus> for ReplicaState {
    fn from(replica: ReplicaCensus) -> Self {
        Self {
            consumer: replica.consumer,
            in_flight: replica.in_flight,
            since: replica.joined_ms.map(time::show),
            heartbeat_age_ms: replica.heartbeat_age.map(ms_up),
            silent: replica.is_silent,
        }
    }
}

/// The changes in the form of PATCH.
fn changes(changes: &Overrides) -> Value {
    let mut document = Value::Object(Map::new());
    for (setting, value) in changes.iter() {
        if let Some(value) = value {
            setting.put(&mut document, value.clone());
        }
    }
    document
}
