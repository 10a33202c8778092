//! Take: one script gets rate tokens first, and then claims as many jobs.

mod starts;
pub(crate) mod token_backoff;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use dripfeed_job::duration::ms_up;
use dripfeed_job::{Chain, Job, JobId, Unreadable, element, entry};
use dripfeed_store::Call;

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

/// A question may be so much longer on its way to Redis than the one before: without this allowance the time between
/// them, as the replica measures it, would fall short of what has passed, and the pace with it. A clock that is put
/// forward gains no more than that, for which pace.rs keeps room.
const JITTER: Duration = Duration::from_millis(25);

/// The field that plain jobs may have.
const CALLER: &str = "caller";

/// The result of a take.
#[derive(Debug)]
pub enum Take {
    /// Claimed jobs, and what to wait for before the next take; None: more may be claimed at once.
    Jobs(Vec<ClaimedJob>, Option<Idle>),
    /// Nothing may be called now.
    Idle(Idle),
    /// The replica was declared dead: it can't claim or settle jobs, and must join again under another name.
    Fenced,
}

#[derive(Debug)]
pub struct ClaimedJob {
    pub claim: Claim,
    pub permit: Permit,
    /// An entry that can't be parsed must be dead-lettered with the reason.
    pub job: Result<Job, Unreadable>,
}

/// The right to settle one job once.
#[derive(Debug)]
pub struct Claim {
    pub(crate) id: JobId,
    /// In a list a job is known by its whole element.
    pub(crate) element: Option<Bytes>,
    /// Counted against the bucket's bytes.
    pub(crate) bytes: u64,
    /// Of all that is stored: a foreign job has a size, and isn't counted.
    pub(crate) size: usize,
    pub(crate) failures: u32,
    pub(crate) due_ms: Option<u64>,
    pub(crate) caller: Option<String>,
    pub(crate) chain: Chain,
    pub(crate) taken_at: Instant,
    /// The same by the Redis clock, in ms.
    pub(crate) taken_ms: u64,
    pub(crate) guard: ClaimGuard,
}

impl Claim {
    #[must_use]
    pub const fn id(&self) -> JobId {
        self.id
    }

    /// The number of earlier failed attempts.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// When it became due, by the Redis clock. Known of jobs that are traced and were parked.
    #[must_use]
    pub const fn due_ms(&self) -> Option<u64> {
        self.due_ms
    }
}

/// When the next take is worthwhile.
#[derive(Clone, Debug)]
pub struct Idle {
    pub(crate) wanting: Wanting,
    pub(crate) until: Instant,
}

/// What keeps a replica from taking more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanting {
    /// Nothing but a new job: when one comes, the next take is worthwhile at once.
    Job,
    /// A token of the pace.
    Token,
    /// The end of a call. That of another replica isn't announced.
    Room,
    /// Something else, which no message announces.
    Time,
}

impl Wanting {
    /// As take.lua writes it.
    fn read(word: &[u8]) -> Self {
        match word {
            b"job" => Self::Job,
            b"token" => Self::Token,
            b"room" => Self::Room,
            _ => Self::Time,
        }
    }
}

/// When a replica joined or asked for jobs: what has passed since, by a clock that nobody sets, bounds what may have
/// leaked since.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) at: Instant,
    /// The Redis clock then, in µs. None: unknown.
    pub(crate) redis_us: Option<u64>,
    /// The Redis clock when it joined, in µs, until it has asked: nobody bounds what passed before that. None where a
    /// member that left the bucket joins again, which does.
    pub(crate) joined_us: Option<u64>,
}

/// What the script is asked for.
pub(crate) struct TakeRequest<'a> {
    pub(crate) consumer: &'a str,
    /// Counts this replica's takes.
    pub(crate) number: u64,
    pub(crate) most: usize,
    /// Others come first for most jobs that are announced.
    pub(crate) is_late: bool,
    /// When this replica joined or last asked.
    pub(crate) before: Asked,
    pub(crate) open_claims: &'a OpenClaims,
    pub(crate) lateness: &'a Lateness,
}

/// How many jobs a replica asks for. A take whose answer didn't come in time may have been too much to hand out in that
/// time, and would be again: so the next one asks for less.
#[derive(Debug)]
pub(crate) struct TakeSize(AtomicUsize);

impl Default for TakeSize {
    fn default() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }
}

impl TakeSize {
    /// What to ask for, of the `wanted`: at least one.
    pub(crate) fn of(&self, wanted: usize) -> usize {
        wanted.min(self.0.load(Ordering::Relaxed))
    }

    /// No answer came to a take of this many.
    pub(crate) fn unanswered(&self, asked: usize) {
        self.0.store((asked / 2).max(1), Ordering::Relaxed);
    }

    /// An answer came.
    pub(crate) fn answered(&self) {
        let bound = self.0.load(Ordering::Relaxed);
        self.0.store(bound.saturating_mul(2), Ordering::Relaxed);
    }
}

/// When a take was asked for, and how long the permits that come of it are good.
struct PermitGrant<'a> {
    asked: Instant,
    answered: Instant,
    valid: Duration,
    lateness: &'a Lateness,
}

impl PermitGrant<'_> {
    fn permit(&self, token_in: Duration) -> Permit {
        Permit::new(self.asked, self.answered, token_in, self.valid, self.lateness.clone())
    }
}

/// One answer of the script.
pub(crate) struct TakeReply {
    pub(crate) take: Take,
    /// Jobs that ended on the way because their deadline had passed.
    pub(crate) expired: u64,
    /// Jobs that ended on the way as dead letters, because they were too large, or had waited for room among these.
    pub(crate) died: u64,
    /// The Redis clock, in µs. None: nothing was looked at.
    pub(crate) redis_us: Option<u64>,
    /// The state of the pace that was written. Empty: none was, or nobody is to remember it.
    pub(crate) pace: Bytes,
}

impl RedisBucket {
    pub(crate) async fn take(&self, request: &TakeRequest<'_>) -> Result<TakeReply, BucketError> {
        let (asked, lateness) = (Instant::now(), request.lateness);
        let needed = lateness.needed();
        let valid = |effective: &EffectiveSettings| {
            if effective.is_paced() { needed.max(effective.prompt) } else { lateness.longest() }
        };
        // What could be forgotten isn't called: its caller would be asked to send it again, and two jobs be called.
        let (effective, reply) = self
            .run_with_settings("take", WaitFor::Durability, |effective| {
                self.take_call(effective, request, valid(effective))
            })
            .await?;
        lateness.saw_reply(asked.elapsed());
        let grant = PermitGrant { asked, answered: Instant::now(), valid: valid(&effective), lateness };
        let reply = read(reply, self.kind, &grant, request.open_claims)?;
        if !reply.pace.is_empty() {
            // A copy: it would keep the whole answer.
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
        let (all, plan) = effective.pack_pace(keys.and_outbox(common, &settings.on_outcome));
        let mut call = SCRIPTS.of(self.kind, effective.pace.is_some()).on(&keys.and_held(all, request.consumer));
        call.arg(&effective.version).arg(request.consumer).arg(request.most.min(BATCH_JOBS));
        call.arg(&plan[..]).arg(settings.leak.max_in_flight.unwrap_or(0));
        call.arg(us(request.before.at.elapsed() + JITTER));
        call.arg(&effective.ends).arg(ms_up(settings.leak.max_hold));
        let ahead = effective.granted_ahead(valid);
        call.arg(request.number).arg(us(valid)).arg(us(undrained(valid, effective.prompt)));
        call.arg(&effective.weights).arg(&effective.bounds);
        call.arg(or_empty(request.before.redis_us));
        let known = effective.pace.as_ref().map(|_| self.known_pace.lock().clone()).unwrap_or_default();
        call.arg(&known[..]);
        call.arg(or_empty(request.before.joined_us)).arg(us(ahead)).arg(u8::from(request.is_late));
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
            let (take, pace) = (Take::Idle(Idle { wanting: Wanting::Time, until }), reply.bytes()?);
            Ok(TakeReply { take, expired: 0, died: 0, redis_us: None, pace })
        }
        b"idle" => {
            let until = grant.answered + Duration::from_micros(reply.count()?);
            let wanting = Wanting::read(&reply.bytes()?);
            let (expired, died, redis_us, pace) = (reply.count()?, reply.count()?, reply.count()?, reply.bytes()?);
            Ok(TakeReply { take: Take::Idle(Idle { wanting, until }), expired, died, redis_us: Some(redis_us), pace })
        }
        b"jobs" => {
            let (expired, died, redis_us) = (reply.count()?, reply.count()?, reply.count()?);
            let wait = reply.text()?.parse().ok().map(Duration::from_micros);
            let (wanting, pace) = (Wanting::read(&reply.bytes()?), reply.bytes()?);
            // None: all at once.
            let starts = match reply.text()? {
                text if text.is_empty() => None,
                text => Some(Starts::read(&text).map_or_else(|| reply.unknown(&text), Ok)?),
            };
            let idle = wait.map(|wait| Idle { wanting, until: grant.answered + wait });
            let plain = match kind {
                Kind::Stream => Some(PlainFields::read(&mut reply)?),
                Kind::List => None,
            };
            let mut jobs = Vec::with_capacity(reply.len() / 2);
            while !reply.is_empty() {
                let token_in = starts.as_ref().map_or(Duration::ZERO, |starts| starts.of_call(jobs.len()));
                let permit = grant.permit(token_in);
                jobs.push(read_job(&mut reply, plain.as_ref(), permit, grant.answered, redis_us / 1000, open_claims)?);
            }
            Ok(TakeReply { take: Take::Jobs(jobs, idle), expired, died, redis_us: Some(redis_us), pace })
        }
        word => reply.unknown(&String::from_utf8_lossy(word)),
    }
}

/// The fields of plain jobs as they stand in an answer: their names, and the value that all have in common. None: each
/// has its own.
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
    // None: elements of a list.
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
            let element = alone(reply.bytes()?);
            (element::decode(id, &element), element::counted_bytes(&element), element.len(), Some(element))
        }
    };
    if let Ok(job) = &mut job {
        job.body = alone(std::mem::take(&mut job.body));
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

/// Memory that nothing else shares: one slow job would keep the whole answer that it came with.
fn alone(bytes: Bytes) -> Bytes {
    if bytes.is_unique() { bytes } else { Bytes::copy_from_slice(&bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_take_without_an_answer_is_followed_by_a_smaller_one_until_one_is_answered() {
        let take_size = TakeSize::default();
        assert_eq!(take_size.of(500), 500);
        take_size.answered();
        let mut asked = Vec::new();
        for _ in 0..10 {
            let of = take_size.of(50);
            asked.push(of);
            take_size.unanswered(of);
        }
        assert_eq!(asked, [50, 25, 12, 6, 3, 1, 1, 1, 1, 1]);
        for doubled in [2, 4, 8, 16, 32, 50, 50] {
            take_size.answered();
            assert_eq!(take_size.of(50), doubled);
        }
    }
}
