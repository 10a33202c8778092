//! Pace and take, in one script: a token is got before a job is read.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dripfeed_job::duration::ms_up;
use dripfeed_job::{Job, JobId, Unreadable, element, entry};
use dripfeed_limit::{KeyIndex, lua};
use dripfeed_store::Call;

use crate::core::{Answered, Core};
use crate::error::BucketError;
use crate::in_force::InForce;
use crate::pace;
use crate::reply::Reply;
use crate::scripts::{CONTROL, HOLDERS, METER, NOW, PACE, RECORD, SPEND, Scripts};
use crate::settings::Kind;
use crate::strays::{Held, Hold};

static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| {
    Scripts::new("take", |kind| {
        let own = [kind.entry, kind.consumers, kind.count, kind.take];
        let shared = [NOW, METER, lua::RULES, lua::ROOM, PACE, SPEND, CONTROL, HOLDERS, RECORD];
        [&shared[..], &own, &[include_str!("take.lua")]].concat()
    })
});

/// More at once would keep Redis from others.
const MOST: usize = 500;

/// A token that is spent later than this after it came, or after it was asked for, would bunch calls beyond the room that
/// pace.rs keeps for late ones.
const PROMPT: Duration = Duration::from_millis(100);
const FRESH: Duration = Duration::from_secs(1);
/// A question may be so much longer on its way to Redis than the one before: without this allowance the time between them,
/// as the replica measures it, would fall short of what has passed, and the pace with it. A clock that is put forward gains no
/// more than that, for which pace.rs keeps room.
const JITTER: Duration = Duration::from_millis(25);

/// What a replica got.
#[derive(Debug)]
pub enum Take {
    Jobs(Vec<Taken>),
    /// Nothing may be called now.
    Idle(Idle),
    /// The replica was declared dead: it takes and settles nothing more, and joins anew under another name.
    Fenced,
}

#[derive(Debug)]
pub struct Taken {
    pub claim: Claim,
    pub permit: Permit,
    /// An entry that is no job is to be buried with the reason.
    pub job: Result<Job, Unreadable>,
}

/// The right to settle one job, used up by it.
#[derive(Debug)]
pub struct Claim {
    pub(crate) id: JobId,
    /// In a list a job is known by its whole element.
    pub(crate) element: Option<Bytes>,
    pub(crate) bytes: u64,
    pub(crate) failures: u32,
    pub(crate) caller: Option<String>,
    pub(crate) taken: Instant,
    /// The same by the Redis clock, in ms.
    pub(crate) taken_ms: u64,
    pub(crate) hold: Hold,
}

impl Claim {
    #[must_use]
    pub const fn id(&self) -> JobId {
        self.id
    }

    /// Attempts that failed before this one.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }
}

/// One token of the pace: the right to one call, soon.
#[derive(Debug)]
pub struct Permit {
    asked: Instant,
    came: Instant,
}

impl Permit {
    /// Whether the call may still be made: a replica that was stopped for a while gives its jobs back instead.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.came.elapsed() < PROMPT && self.asked.elapsed() < FRESH
    }
}

/// Why nothing came, and how long it isn't worth asking again unless the bell rings.
#[derive(Clone, Debug)]
pub struct Idle {
    /// Nothing but a new entry is wanting: the stream's last id when it was looked at.
    pub(crate) bell: Option<String>,
    pub(crate) wait: Duration,
}

/// One answer of the script.
pub(crate) struct Taking {
    pub(crate) take: Take,
    /// Jobs that ended on the way because their deadline had passed.
    pub(crate) expired: u64,
}

impl Core {
    /// `number` counts this replica's takes. `before` is when this replica joined or last asked: what has passed since, by a clock that nobody sets, bounds what
    /// may have leaked since.
    pub(crate) async fn take(
        &self,
        consumer: &str,
        number: u64,
        most: usize,
        before: Instant,
        held: &Held,
    ) -> Result<Taking, BucketError> {
        let asked = Instant::now();
        // What could be forgotten isn't called: its caller would be told to send it again, and two jobs be called.
        let (_, reply) = self
            .ask_in_force("take", Answered::Durably, |force| self.take_call(force, consumer, number, most, before))
            .await?;
        read(reply, self.kind, asked, held)
    }

    fn take_call(&self, force: &InForce, consumer: &str, number: u64, most: usize, before: Instant) -> Call<'static> {
        let (keys, settings) = (&self.keys, &force.settings);
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
        ];
        let mut index = KeyIndex::after(common);
        let plan = pace::pack(force.pace.as_ref(), &mut index);
        let mut call = SCRIPTS.of(self.kind).on(&keys.and_held(index.into_keys(), consumer));
        call.arg(&force.version).arg(consumer).arg(most.min(MOST));
        call.arg(&plan[..]).arg(settings.leak.max_in_flight.unwrap_or(0));
        call.arg(u64::try_from((before.elapsed() + JITTER).as_micros()).unwrap_or(u64::MAX));
        call.arg(ms_up(settings.keep.outcomes)).arg(settings.keep.most_outcomes).arg(ms_up(settings.leak.max_hold));
        call.arg(number);
        call
    }
}

fn read(mut reply: Reply, kind: Kind, asked: Instant, held: &Held) -> Result<Taking, BucketError> {
    match reply.text()?.as_str() {
        "fenced" => Ok(Taking { take: Take::Fenced, expired: 0 }),
        "idle" => {
            let wait = Duration::from_micros(reply.count()?);
            let on_new = reply.text()? == "1";
            let last_id = reply.text()?;
            let expired = reply.count()?;
            Ok(Taking { take: Take::Idle(Idle { bell: on_new.then_some(last_id), wait }), expired })
        }
        "jobs" => {
            let (expired, taken_ms) = (reply.count()?, reply.count()?);
            let mut jobs = Vec::new();
            while !reply.is_empty() {
                jobs.push(read_job(&mut reply.array()?, kind, asked, taken_ms, held)?);
            }
            Ok(Taking { take: Take::Jobs(jobs), expired })
        }
        word => reply.unknown(word),
    }
}

fn read_job(reply: &mut Reply, kind: Kind, asked: Instant, taken_ms: u64, held: &Held) -> Result<Taken, BucketError> {
    let id = reply.parse::<JobId>()?;
    let (job, bytes, element) = match kind {
        Kind::Stream => {
            let fields = reply.array()?.pairs()?;
            (entry::decode(id, &fields), entry::counted_bytes(&fields), None)
        }
        Kind::List => {
            let element = reply.bytes()?;
            (element::decode(id, &element), element::counted_bytes(&element), Some(element))
        }
    };
    let failures = u32::try_from(reply.count()?).unwrap_or(u32::MAX);
    let name = element.clone().unwrap_or_else(|| id.to_string().into());
    let caller = job.as_ref().ok().and_then(|job| job.caller.clone());
    let came = Instant::now();
    let claim = Claim { id, element, bytes, failures, caller, taken: came, taken_ms, hold: held.hold(name) };
    Ok(Taken { claim, permit: Permit { asked, came }, job })
}
