//! Takes jobs: one script call takes rate tokens, and then claims at most as many jobs.

mod starts;
pub(crate) mod token_backoff;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use dripfeed_job::duration::ms_up;
use dripfeed_job::{Chain, Job, JobId, Unreadable, element, entry};
use dripfeed_store::Call;

use crate::deliver::charge::{Charge, ChargeTerms};
use crate::deliver::orphaned_claims::{ClaimGuard, OpenClaims};
use crate::deliver::permit::{Lateness, Permit, undrained};
use crate::deliver::take::starts::Starts;
use crate::error::BucketError;
use crate::script::constants::BATCH_JOBS;
use crate::script::redis_bucket::{EffectiveSettings, RedisBucket, WaitFor};
use crate::script::reply::Reply;
use crate::script::scripts::PlannedScripts;
use crate::settings::Kind;

pub(crate) static SCRIPTS: PlannedScripts = PlannedScripts::new("take", include_str!("take.lua"));

/// Added to the time between two takes as this replica measures it, in case the second is this much longer on its way
/// to Redis: otherwise the pace would lose that time. A Redis clock that is set forward gains no more than this, for
/// which pace.rs keeps room.
const JITTER: Duration = Duration::from_millis(25);

/// The only optional field of plain jobs.
const CALLER: &str = "caller";

/// The result of a take.
#[derive(Debug)]
pub enum Take {
    /// Claimed jobs, and what to wait for before the next take. `None` if more jobs may be claimed at once.
    Jobs(Vec<ClaimedJob>, Option<Idle>),
    /// No job may be called now.
    Idle(Idle),
    /// The replica was declared dead: it can't claim or settle jobs, and must join again under another name.
    Fenced,
}

#[derive(Debug)]
pub struct ClaimedJob {
    pub claim: Claim,
    pub permit: Permit,
    /// The job, or why its entry can't be parsed: then it must be dead-lettered.
    pub job: Result<Job, Unreadable>,
}

/// The right to settle one job once.
#[derive(Debug)]
pub struct Claim {
    pub(crate) id: JobId,
    /// The whole element of a list, which identifies the job there.
    pub(crate) element: Option<Bytes>,
    /// The bytes that count against `capacity_bytes`; 0 for an entry of a plain `XADD`.
    pub(crate) bytes: u64,
    /// The size of the entry or element.
    pub(crate) size: usize,
    pub(crate) failures: u32,
    pub(crate) due_ms: Option<u64>,
    pub(crate) caller: Option<String>,
    pub(crate) chain: Chain,
    pub(crate) taken_at: Instant,
    /// `taken_at` by the Redis clock, in ms.
    pub(crate) taken_ms: u64,
    pub(crate) guard: ClaimGuard,
}

impl Claim {
    #[must_use]
    pub const fn id(&self) -> JobId {
        self.id
    }

    /// Returns the number of earlier failed attempts.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns when the job became due, in ms of the Redis clock. `None` unless it is traced and was parked.
    #[must_use]
    pub const fn due_ms(&self) -> Option<u64> {
        self.due_ms
    }
}

/// When the next take is worthwhile.
#[derive(Clone, Debug)]
pub struct Idle {
    pub(crate) wait_for: WaitReason,
    pub(crate) until: Instant,
}

/// What a replica waits for before it can take more jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitReason {
    /// A new job, which is announced.
    Job,
    /// A token of the pace.
    Token,
    /// The end of a call. Only calls of this replica are noticed.
    Room,
    /// Anything else. Nothing announces it.
    Time,
}

impl WaitReason {
    /// Parses the word of take.lua.
    fn read(word: &[u8]) -> Self {
        match word {
            b"job" => Self::Job,
            b"token" => Self::Token,
            b"room" => Self::Room,
            _ => Self::Time,
        }
    }
}

/// When a replica last took jobs, or joined. The time since then, by the monotonic clock, bounds the tokens that it may
/// have earned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastTake {
    pub(crate) at: Instant,
    /// The Redis clock then, in µs. `None` if it isn't known.
    pub(crate) redis_us: Option<u64>,
    /// Until the first take: the Redis clock when this replica joined, in µs, as the time before that isn't bounded.
    /// `None` if it joined again after a standby, during which its own clock bounds the time.
    pub(crate) joined_us: Option<u64>,
}

pub(crate) struct TakeRequest<'a> {
    pub(crate) consumer: &'a str,
    /// The number of this take, counted by the replica.
    pub(crate) number: u64,
    pub(crate) most: usize,
    /// Whether other replicas take most of the announced jobs before this one.
    pub(crate) is_late: bool,
    pub(crate) last_take: LastTake,
    pub(crate) open_claims: &'a OpenClaims,
    pub(crate) lateness: &'a Lateness,
}

/// Limits how many jobs a take asks for. A take that timed out may have asked for more than Redis could return in time,
/// so the next one asks for half as many.
#[derive(Debug)]
pub(crate) struct TakeSize(AtomicUsize);

impl Default for TakeSize {
    fn default() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }
}

impl TakeSize {
    /// The number of jobs to ask for, at most `wanted`.
    pub(crate) fn limit(&self, wanted: usize) -> usize {
        wanted.min(self.0.load(Ordering::Relaxed))
    }

    /// A take of this many jobs had no answer.
    pub(crate) fn unanswered(&self, asked: usize) {
        self.0.store((asked / 2).max(1), Ordering::Relaxed);
    }

    /// A take had an answer.
    pub(crate) fn answered(&self) {
        let limit = self.0.load(Ordering::Relaxed);
        self.0.store(limit.saturating_mul(2), Ordering::Relaxed);
    }
}

/// What the permits of a take have in common.
struct PermitGrant<'a> {
    asked: Instant,
    answered: Instant,
    valid: Duration,
    lateness: &'a Lateness,
    /// The version of the settings, if the pace is refunded for calls that aren't made.
    version: Option<&'a str>,
}

impl PermitGrant<'_> {
    fn permit(&self, token_in: Duration) -> Permit {
        Permit::new(self.asked, self.answered, token_in, self.valid, self.lateness.clone())
    }

    fn charge(&self, server: Bytes, state: &Bytes, granted_us: u64) -> Option<Charge> {
        let terms = ChargeTerms { version: self.version?.to_owned(), valid: self.valid, asked: self.asked };
        Charge::new(terms, server, state, granted_us)
    }
}

/// The answer of the script.
pub(crate) struct TakeReply {
    pub(crate) take: Take,
    /// Jobs whose deadline had passed.
    pub(crate) expired: u64,
    /// Jobs that became dead letters, because they were too large, or had waited for room among the dead letters.
    pub(crate) died: u64,
    /// The Redis clock, in µs. `None` if the script didn't check for jobs.
    pub(crate) redis_us: Option<u64>,
    /// The new state of the pace, to present at the next take. Empty if none was written.
    pub(crate) pace: Bytes,
}

impl RedisBucket {
    pub(crate) async fn take(&self, request: &TakeRequest<'_>) -> Result<TakeReply, BucketError> {
        let (asked, lateness) = (Instant::now(), request.lateness);
        let needed = lateness.needed();
        let valid = |effective: &EffectiveSettings| {
            if effective.is_paced() { needed.max(effective.prompt) } else { lateness.longest() }
        };
        // Durable before the call: if Redis lost the job, its submission would be repeated, and the call made twice.
        let (effective, reply) = self
            .run_with_settings("take", WaitFor::Durability, |effective| {
                self.take_call(effective, request, valid(effective))
            })
            .await?;
        lateness.saw_reply(asked.elapsed());
        let version = effective.is_refundable.then_some(&effective.version[..]);
        let grant = PermitGrant { asked, answered: Instant::now(), valid: valid(&effective), lateness, version };
        let reply = read(reply, self.kind, &grant, request.open_claims)?;
        if !reply.pace.is_empty() {
            // A copy, because a slice keeps the whole reply in memory.
            *self.known_pace.lock() = Bytes::copy_from_slice(&reply.pace);
        }
        Ok(reply)
    }

    fn take_call(&self, effective: &EffectiveSettings, request: &TakeRequest<'_>, valid: Duration) -> Call<'static> {
        let (keys, settings) = (&self.keys, &effective.settings);
        let common = vec![
            keys.jobs(),
            keys.pace(),
            keys.meter(),
            keys.tally(),
            keys.control(),
            keys.replicas(),
            keys.outcomes(),
            keys.ended(),
            keys.takes(),
            keys.holders(),
            keys.keyed_jobs(),
            keys.key_ends(),
            keys.dead(),
            keys.letters(),
            keys.letter_sizes(),
            keys.notices(),
        ];
        let (all, plan) = self.pack_pace(effective, keys.and_outbox(common, &settings.on_outcome));
        let mut call = SCRIPTS.of(self.kind, effective.pace.is_some()).on(&keys.and_held(all, request.consumer));
        call.arg(&effective.version).arg(request.consumer).arg(request.most.min(BATCH_JOBS));
        call.arg(&plan[..]).arg(settings.leak.max_in_flight.unwrap_or(0));
        call.arg(us(request.last_take.at.elapsed() + JITTER));
        call.arg(&effective.ends).arg(ms_up(settings.leak.max_hold));
        let ahead = effective.granted_ahead(valid);
        call.arg(request.number).arg(us(valid)).arg(us(undrained(valid, effective.prompt)));
        call.arg(&effective.weights).arg(&effective.bounds);
        call.arg(or_empty(request.last_take.redis_us));
        let known = effective.pace.as_ref().map(|_| self.known_pace.lock().clone()).unwrap_or_default();
        call.arg(&known[..]);
        call.arg(or_empty(request.last_take.joined_us)).arg(us(ahead)).arg(u8::from(request.is_late));
        call.with_large_reply()
    }
}

fn or_empty(number: Option<u64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn read(
    mut reply: Reply,
    kind: Kind,
    grant: &PermitGrant<'_>,
    open_claims: &OpenClaims,
) -> Result<TakeReply, BucketError> {
    match &reply.bytes()?[..] {
        b"fenced" => Ok(TakeReply { take: Take::Fenced, expired: 0, died: 0, redis_us: None, pace: Bytes::new() }),
        b"settling" => {
            let until = grant.answered + Duration::from_micros(reply.count()?);
            let (take, pace) = (Take::Idle(Idle { wait_for: WaitReason::Time, until }), reply.bytes()?);
            Ok(TakeReply { take, expired: 0, died: 0, redis_us: None, pace })
        }
        b"idle" => {
            let until = grant.answered + Duration::from_micros(reply.count()?);
            let wait_for = WaitReason::read(&reply.bytes()?);
            let (expired, died, redis_us, pace) = (reply.count()?, reply.count()?, reply.count()?, reply.bytes()?);
            Ok(TakeReply { take: Take::Idle(Idle { wait_for, until }), expired, died, redis_us: Some(redis_us), pace })
        }
        b"jobs" => {
            let (expired, died, redis_us) = (reply.count()?, reply.count()?, reply.count()?);
            let wait = reply.text()?.parse().ok().map(Duration::from_micros);
            let (wait_for, (server, pace)) = (WaitReason::read(&reply.bytes()?), server_and_state(&reply.bytes()?));
            let charge = grant.charge(server, &pace, redis_us);
            // Empty: all calls may begin at once.
            let starts = match reply.text()? {
                text if text.is_empty() => None,
                text => Some(Starts::read(&text).map_or_else(|| reply.unknown(&text), Ok)?),
            };
            let idle = wait.map(|wait| Idle { wait_for, until: grant.answered + wait });
            let plain = match kind {
                Kind::Stream => Some(PlainFields::read(&mut reply)?),
                Kind::List => None,
            };
            let mut jobs = Vec::with_capacity(reply.len() / 2);
            while !reply.is_empty() {
                let token_in = starts.as_ref().map_or(Duration::ZERO, |starts| starts.of_call(jobs.len()));
                let permit = grant.permit(token_in).with_charge(charge.clone());
                jobs.push(read_job(&mut reply, plain.as_ref(), permit, grant.answered, redis_us / 1000, open_claims)?);
            }
            Ok(TakeReply { take: Take::Jobs(jobs, idle), expired, died, redis_us: Some(redis_us), pace })
        }
        word => reply.unknown(&String::from_utf8_lossy(word)),
    }
}

/// The run_id of the server and the state of the pace, both empty without a state.
fn server_and_state(written: &Bytes) -> (Bytes, Bytes) {
    let space = written.iter().position(|byte| *byte == b' ');
    space.map_or_else(Default::default, |space| (written.slice(..space), written.slice(space + 1..)))
}

/// The fields of plain jobs in a reply, in order: their names, and the value if all jobs have the same one.
struct PlainFields([(&'static str, Option<Bytes>); entry::FIELDS.len() + 1]);

impl PlainFields {
    fn read(reply: &mut Reply) -> Result<Self, BucketError> {
        let own = reply.text()?;
        let [body, content_type, sum, version] = entry::FIELDS;
        let mut fields = [(body, None), (sum, None), (content_type, None), (version, None), (CALLER, None)];
        for ((_, common), place) in fields[2..].iter_mut().zip(["4", "8", "10"]) {
            let value = reply.bytes()?;
            *common = Some(value).filter(|_| own.split(' ').all(|other| other != place));
        }
        Ok(Self(fields))
    }

    fn of_job(&self, reply: &mut Reply) -> Result<Vec<(Bytes, Bytes)>, BucketError> {
        let mut fields = Vec::with_capacity(self.0.len());
        for (name, common) in &self.0 {
            let value = common.clone().map_or_else(|| reply.bytes(), Ok)?;
            if *name != CALLER || !value.is_empty() {
                fields.push((Bytes::from_static(name.as_bytes()), value));
            }
        }
        Ok(fields)
    }
}

fn read_job(
    reply: &mut Reply,
    // `None` for the elements of a list.
    plain: Option<&PlainFields>,
    permit: Permit,
    taken_at: Instant,
    taken_ms: u64,
    open_claims: &OpenClaims,
) -> Result<ClaimedJob, BucketError> {
    let id = reply.parse::<JobId>()?;
    let (mut failures, mut due_ms) = (0, None);
    let (mut job, bytes, size, element) = match plain {
        Some(plain) => {
            let fields = if reply.begins_with_array() {
                let fields = reply.array()?.pairs()?;
                failures = u32::try_from(reply.count()?).unwrap_or(u32::MAX);
                due_ms = u64::try_from(reply.number()?).ok().filter(|due_ms| *due_ms > 0);
                fields
            } else {
                plain.of_job(reply)?
            };
            let size = fields.iter().map(|(name, value)| name.len() + value.len()).sum();
            (entry::decode(id, &fields), entry::counted_bytes(&fields), size, None)
        }
        None => {
            let element = unshared(reply.bytes()?);
            (element::decode(id, &element), element::counted_bytes(&element), element.len(), Some(element))
        }
    };
    if let Ok(job) = &mut job {
        job.body = unshared(std::mem::take(&mut job.body));
    }
    let caller = job.as_ref().ok().and_then(|job| job.caller.clone());
    let chain = job.as_ref().map(|job| job.chain.clone()).unwrap_or_default();
    let claim = Claim {
        id,
        element,
        bytes,
        size,
        failures,
        due_ms,
        caller,
        chain,
        taken_at,
        taken_ms,
        guard: open_claims.add(id),
    };
    Ok(ClaimedJob { claim, permit, job })
}

/// Copies a slice of the reply: otherwise one slow job would keep the whole reply in memory.
fn unshared(bytes: Bytes) -> Bytes {
    if bytes.is_unique() { bytes } else { Bytes::copy_from_slice(&bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_take_without_an_answer_is_followed_by_a_smaller_one_until_one_is_answered() {
        let take_size = TakeSize::default();
        assert_eq!(take_size.limit(500), 500);
        take_size.answered();
        let mut asked = Vec::new();
        for _ in 0..10 {
            let limit = take_size.limit(50);
            asked.push(limit);
            take_size.unanswered(limit);
        }
        assert_eq!(asked, [50, 25, 12, 6, 3, 1, 1, 1, 1, 1]);
        for doubled in [2, 4, 8, 16, 32, 50, 50] {
            take_size.answered();
            assert_eq!(take_size.limit(50), doubled);
        }
    }
}
