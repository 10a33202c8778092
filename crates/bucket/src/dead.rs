//! Dead letters: buried jobs, whole, with the reason and the upstream's last answer. A replay keeps the bound and the pace.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use dripfeed_job::{JobId, Outcome, Rate, element};
use dripfeed_limit::{KeyIndex, lua};
use dripfeed_store::{Call, Script};
use redis::Value;

use crate::admission::{Admitted, Reason, Refused};
use crate::core::{Answered, Core};
use crate::error::BucketError;
use crate::in_force::InForce;
use crate::pace;
use crate::page::{Cursor, Page};
use crate::reply::Reply;
use crate::scripts::{CONTROL, HOLDERS, METER, NOW, PACE, SHARE, Scripts, WAIT};
use crate::settings::Kind;

static REPLAY: LazyLock<Scripts> = LazyLock::new(|| {
    Scripts::new("replay", |kind| {
        let own = [kind.entry, kind.consumers, kind.count, kind.append];
        let shared = [NOW, METER, lua::RULES, lua::PASSING, PACE, CONTROL, kind.due, WAIT, HOLDERS, SHARE];
        [&shared[..], &own, &[include_str!("replay.lua")]].concat()
    })
});
static FORGET: LazyLock<Script> = LazyLock::new(|| Script::new("forget", &[include_str!("forget.lua")]));

const LIST: &str = "dead";
/// Letters carry bodies: few at a time.
const CHUNK: usize = 50;
/// The same, where bodies may be as large as an intake takes them.
const MOST_LETTERS: usize = 1000;

#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// The job's id.
    pub id: JobId,
    /// Ms since the epoch.
    pub died_ms: u64,
    /// Reason, last status, attempts, last answer.
    pub outcome: Outcome,
    pub caller: Option<String>,
    pub content_type: Option<String>,
    pub body: Bytes,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadFilter {
    /// Only reasons that contain this text.
    pub reason: Option<String>,
    /// Only with this last status.
    pub status: Option<u16>,
    pub caller: Option<String>,
    pub died_since_ms: Option<u64>,
    pub died_until_ms: Option<u64>,
}

impl DeadFilter {
    fn matches(&self, letter: &DeadLetter) -> bool {
        let reason = letter.outcome.reason.as_deref().unwrap_or_default();
        self.reason.as_deref().is_none_or(|wanted| reason.contains(wanted))
            && self.status.is_none_or(|wanted| letter.outcome.status == Some(wanted))
            && self.caller.as_deref().is_none_or(|wanted| letter.caller.as_deref() == Some(wanted))
            && self.died_since_ms.is_none_or(|since| letter.died_ms >= since)
            && self.died_until_ms.is_none_or(|until| letter.died_ms <= until)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replayed {
    As(Admitted),
    Refused(Refused),
    Unknown,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayedMany {
    pub replayed: u64,
    /// Matched, but there was no room, or none for their caller.
    pub left: u64,
}

impl Core {
    pub(crate) async fn dead_letters(
        &self,
        filter: &DeadFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<DeadLetter>, BucketError> {
        let settings = self.settings();
        let bucket = settings.name.as_str();
        let mut from = match after {
            Some(cursor) => format!("({}", cursor.position::<JobId>(LIST, bucket)?),
            None => filter.died_since_ms.map_or("-".to_owned(), |ms| ms.to_string()),
        };
        let mut items = Vec::new();
        loop {
            let letters = self.letters(&from, "+", CHUNK).await?;
            let Some((last, _)) = letters.last() else { return Ok(Page { items, next: None }) };
            from = format!("({last}");
            for (entry, letter) in letters {
                if !letter.as_ref().is_some_and(|letter| filter.matches(letter)) {
                    continue;
                }
                items.extend(letter);
                if items.len() == limit.min(MOST_LETTERS) {
                    return Ok(Page { items, next: Some(Cursor::new(LIST, bucket, entry)) });
                }
            }
        }
    }

    pub(crate) async fn dead_letter(&self, id: JobId) -> Result<Option<DeadLetter>, BucketError> {
        let mut get = redis::cmd("HGET");
        get.arg(self.keys.letters()).arg(id.to_string());
        let Some(entry): Option<String> = self.store.command(&get).await? else { return Ok(None) };
        Ok(self.letters(&entry, &entry, 1).await?.pop().and_then(|(_, letter)| letter))
    }

    /// Entry ids, each with its letter; None for an entry that is no letter of ours.
    async fn letters(
        &self,
        from: &str,
        to: &str,
        most: usize,
    ) -> Result<Vec<(JobId, Option<DeadLetter>)>, BucketError> {
        let mut range = redis::cmd("XRANGE");
        range.arg(self.keys.dead()).arg(from).arg(to).arg("COUNT").arg(most);
        let mut reply = Reply::new("XRANGE", self.store.command::<Value>(&range).await?)?;
        let mut letters = Vec::new();
        while !reply.is_empty() {
            let mut entry = reply.array()?;
            let id = entry.parse::<JobId>()?;
            letters.push((id, read(id, &entry.array()?.pairs()?)));
        }
        Ok(letters)
    }

    /// The new job is due after `delay`.
    pub(crate) async fn replay(&self, id: JobId, delay: Duration) -> Result<Replayed, BucketError> {
        let (force, mut reply) =
            self.ask_in_force("replay", Answered::Durably, |force| self.replay_call(force, id, delay)).await?;
        let capacity = force.settings.capacity;
        match reply.text()?.as_str() {
            "absent" => Ok(Replayed::Unknown),
            "admitted" => {
                let (id, level, eta) = (reply.parse()?, reply.count()?, Duration::from_millis(reply.count()?));
                Ok(Replayed::As(Admitted { id, level, capacity, eta, repeated: false }))
            }
            word => {
                let known = [Reason::BucketFull, Reason::ShareTaken].into_iter().find(|reason| reason.word() == word);
                let Some(reason) = known else { return reply.unknown(word) };
                let retry_after = Some(Duration::from_millis(reply.count()?));
                Ok(Replayed::Refused(Refused { reason, retry_after, level: reply.count()?, capacity }))
            }
        }
    }

    fn replay_call(&self, force: &InForce, id: JobId, delay: Duration) -> Call<'static> {
        let (keys, settings) = (&self.keys, &force.settings);
        let common = vec![
            keys.jobs(),
            keys.pace(),
            keys.meter(),
            keys.tally(),
            keys.control(),
            keys.dead(),
            keys.letters(),
            keys.holders(),
        ];
        let mut index = KeyIndex::after(common);
        let plan = pace::pack(force.pace.as_ref(), &mut index);
        let mut call = REPLAY.of(self.kind).on(&keys.and_level(index.into_keys()));
        call.arg(&force.version).arg(id.to_string()).arg(settings.capacity).arg(settings.capacity_bytes);
        call.arg(&plan[..]).arg(settings.share_of_one()).arg(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        call
    }

    /// Those that match, oldest first, as far as there is room. With a rate the n-th is due after n of its periods, so the
    /// bucket itself keeps the rate and nobody has to stay for it.
    pub(crate) async fn replay_many(
        &self,
        filter: &DeadFilter,
        rate: Option<Rate>,
    ) -> Result<ReplayedMany, BucketError> {
        if self.kind == Kind::List && rate.is_some() {
            return Err(BucketError::Unsupported("replay at a rate"));
        }
        let mut ids = Vec::new();
        let mut after = None;
        loop {
            let page = self.dead_letters(filter, after.as_ref(), MOST_LETTERS).await?;
            ids.extend(page.items.iter().map(|letter| letter.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let mut done = ReplayedMany::default();
        for (number, id) in ids.iter().enumerate() {
            let delay = rate.map_or(Duration::ZERO, |rate| {
                Duration::from_micros(done.replayed.saturating_mul(rate.period_us()) / rate.limit())
            });
            match self.replay(*id, delay).await? {
                Replayed::As(_) => done.replayed += 1,
                // Others may still have theirs.
                Replayed::Refused(Refused { reason: Reason::ShareTaken, .. }) => done.left += 1,
                Replayed::Refused(_) => {
                    done.left += (ids.len() - number) as u64;
                    break;
                }
                // Somebody else replayed or deleted it meanwhile.
                Replayed::Unknown => {}
            }
        }
        Ok(done)
    }

    pub(crate) async fn delete_dead(&self, id: JobId) -> Result<bool, BucketError> {
        let mut call = FORGET.on(&[self.keys.dead(), self.keys.letters()]);
        call.arg(id.to_string());
        Ok(self.store.run_durably::<u8>(&call).await? == 1)
    }
}

fn read(entry: JobId, fields: &[(Bytes, Bytes)]) -> Option<DeadLetter> {
    let get = |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.clone());
    let text = |name| String::from_utf8(get(name)?.into()).ok().filter(|text| !text.is_empty());
    // The letter of a list's job has the job as its element; one that isn't readable is shown as it is.
    if let Some(element) = get("element") {
        let members = element::fields(&element).unwrap_or_else(|_| vec![(Bytes::from_static(b"body"), element)]);
        let own = fields.iter().filter(|(name, _)| name != "element").cloned();
        return read(entry, &own.chain(members).collect::<Vec<_>>());
    }
    Some(DeadLetter {
        id: text("job")?.parse().ok()?,
        died_ms: entry.accepted_ms(),
        outcome: serde_json::from_str(&text("outcome")?).ok()?,
        caller: text("caller"),
        content_type: text("content_type"),
        body: get("body").or_else(|| get("request_details")).unwrap_or_default(),
    })
}
