//! Dead letters: complete jobs, with the reason and the upstream's last answer.

pub(crate) mod dead_groups;

use bytes::Bytes;
use dripfeed_job::{JobId, LastStatus, Outcome};
use dripfeed_store::{Call, Script};
use redis::Value;
use serde::{Deserialize, Serialize};

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::inspect::job_payload::{JobPayload, text_of, with_members};
use crate::inspect::pagination::{CALLS, Cursor, PAGE_BYTES, Page};
use crate::script::redis_bucket::{RedisBucket, WaitFor};
use crate::script::reply::Reply;
use crate::script::scripts::{SHARED, Scripts};

static LIST_DEAD: Scripts = Scripts::new("list_dead", include_str!("list_dead.lua"));
static NEWEST: Script = Script::new("newest_letter", SHARED, include_str!("dead_letters/newest_letter.lua"));

const LIST: &str = "dead";
/// The field of a job that was replayed with another payload: the id of the job that died.
pub(in crate::ended) const REPLAY_OF: &str = "replay_of";
/// Maximum ids in one call.
const MOST_IDS: usize = 500;

/// What a script returns of a letter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LetterContent {
    Whole,
    /// Only the ids of the jobs.
    Ids,
}

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
    pub method: Option<String>,
    pub path: Option<String>,
    /// The headers that are forwarded to the upstream.
    pub headers: Vec<(String, String)>,
    /// If the job was a replay with another payload: the id of the job that had died before.
    pub replay_of: Option<JobId>,
    pub body: Bytes,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeadFilter {
    /// Only letters whose reason contains this text, or is equal to it if `exact_reason` is set.
    pub reason: Option<String>,
    pub exact_reason: bool,
    /// Only letters with this last status.
    pub status: Option<LastStatus>,
    pub caller: Option<String>,
    pub died_since_ms: Option<u64>,
    pub died_until_ms: Option<u64>,
}

impl DeadFilter {
    /// Adds the arguments that each_letter.lua reads.
    fn add_to(&self, call: &mut Call<'_>, ending: &str) {
        call.arg(self.reason.as_deref().unwrap_or_default());
        call.arg(self.status.map_or_else(String::new, |status| status.to_string()));
        call.arg(self.caller.as_deref().unwrap_or_default());
        call.arg(ending);
        call.arg(u8::from(self.exact_reason));
    }

    /// The beginning of a page, as an argument of XRANGE.
    fn beginning(&self, after: Option<&Cursor>, bucket: &str) -> Result<String, BucketError> {
        Ok(match after {
            Some(cursor) => format!("({}", cursor.job(LIST, bucket)?),
            None => self.first(),
        })
    }

    /// The beginning of the time range, as an argument of XRANGE.
    pub(super) fn first(&self) -> String {
        self.died_since_ms.map_or_else(|| "-".to_owned(), |ms| ms.to_string())
    }

    /// The end of the time range, as an argument of XRANGE.
    fn ending(&self) -> String {
        self.died_until_ms.map_or_else(|| "+".to_owned(), |ms| ms.to_string())
    }

    /// The end of the range without letters newer than `newest`. Ids grow even if the Redis clock is set back.
    pub(super) fn ending_with(&self, newest: JobId) -> String {
        self.died_until_ms
            .filter(|ms| *ms < newest.accepted_ms())
            .map_or_else(|| newest.to_string(), |ms| ms.to_string())
    }
}

impl Bucket {
    /// Returns a page of dead letters, oldest first. It ends early when its letters have as many bytes as one script
    /// may read.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; for a cursor of another list.
    pub async fn dead_letters(
        &self,
        filter: &DeadFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<DeadLetter>, BucketError> {
        let settings = self.redis_bucket.settings();
        let bucket = settings.name.as_str();
        let mut from = filter.beginning(after, bucket)?;
        let (ending, mut items, mut bytes) = (filter.ending(), Vec::new(), 0);
        for _ in 0..CALLS {
            let (between, most) = ((from.as_str(), ending.as_str()), limit - items.len());
            let mut reply = self.redis_bucket.letters(filter, between, most, bytes, LetterContent::Whole).await?;
            let last = reply.text()?;
            while !reply.is_empty() {
                let mut letter = reply.array()?;
                let (id, fields) = (letter.parse()?, letter.array()?.pairs()?);
                bytes += fields.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
                items.extend(read(id, fields));
            }
            if last.is_empty() {
                return Ok(Page { items, next: None });
            }
            from = format!("({last}");
            if items.len() >= limit || bytes >= PAGE_BYTES {
                break;
            }
        }
        let last = from.strip_prefix('(').unwrap_or(&from);
        Ok(Page { items, next: Some(Cursor::new(LIST, bucket, last)) })
    }

    /// Returns the number of dead letters.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn number_of_dead_letters(&self) -> Result<u64, BucketError> {
        Ok(self.redis_bucket.store.command(redis::cmd("XLEN").arg(self.redis_bucket.keys.dead())).await?)
    }

    /// Returns the dead letter of a job.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn dead_letter(&self, id: JobId) -> Result<Option<DeadLetter>, BucketError> {
        let found = self.redis_bucket.letter_of(id).await?;
        Ok(found.and_then(|(letter, fields)| read(letter, fields)))
    }
}

impl RedisBucket {
    /// Returns the id and the fields of the letter of the job `id`.
    pub(super) async fn letter_of(&self, id: JobId) -> Result<Option<(JobId, Vec<(Bytes, Bytes)>)>, BucketError> {
        let mut get = redis::cmd("HGET");
        get.arg(self.keys.letters()).arg(id.to_string());
        let Some(entry): Option<String> = self.store.command(&get).await? else { return Ok(None) };
        let mut range = redis::cmd("XRANGE");
        range.arg(self.keys.dead()).arg(&entry).arg(&entry);
        let mut found = Reply::new("XRANGE", self.store.command::<Value>(&range).await?)?;
        if found.is_empty() {
            return Ok(None);
        }
        let mut letter = found.array()?;
        Ok(Some((letter.parse()?, letter.array()?.pairs()?)))
    }

    /// Returns the id of the newest letter, `0-0` if none exists.
    pub(super) async fn newest_letter(&self) -> Result<JobId, BucketError> {
        let newest: String = self.store.run(&NEWEST.on(&[self.keys.dead()])).await?;
        let what = || format!("unexpected id `{newest}`");
        newest.parse().map_err(|_| BucketError::Reply { script: "newest_letter", what: what() })
    }

    /// Returns the answer of list_dead.lua: at most `most` letters of the range, for a page that has `bytes` already.
    async fn letters(
        &self,
        filter: &DeadFilter,
        (from, ending): (&str, &str),
        most: usize,
        bytes: usize,
        content: LetterContent,
    ) -> Result<Reply, BucketError> {
        let mut call = LIST_DEAD.of(self.kind).on(&[self.keys.dead()]);
        call.arg(from).arg(most).arg(bytes).arg(u8::from(content == LetterContent::Ids));
        filter.add_to(&mut call, ending);
        let (_, reply) = self.read("list_dead", &call.with_large_reply(), WaitFor::Reply).await?;
        Ok(reply)
    }

    /// Returns the ids of all jobs whose letters match, oldest first, up to `ending`.
    pub(super) async fn dead_ids(&self, filter: &DeadFilter, ending: &str) -> Result<Vec<JobId>, BucketError> {
        let mut ids = Vec::new();
        let mut from = filter.first();
        loop {
            let (page, last) = self.dead_ids_between(filter, &from, ending).await?;
            ids.extend(page);
            if last.is_empty() {
                return Ok(ids);
            }
            from = format!("({last}");
        }
    }

    /// Returns a part of these ids, and the last letter that was read for it, '' at the end of the range.
    pub(super) async fn dead_ids_between(
        &self,
        filter: &DeadFilter,
        from: &str,
        ending: &str,
    ) -> Result<(Vec<JobId>, String), BucketError> {
        let mut reply = self.letters(filter, (from, ending), MOST_IDS, 0, LetterContent::Ids).await?;
        let last = reply.text()?;
        let mut ids = Vec::new();
        while !reply.is_empty() {
            ids.extend(reply.shown()?.parse::<JobId>().ok());
        }
        Ok((ids, last))
    }
}

fn read(entry: JobId, fields: Vec<(Bytes, Bytes)>) -> Option<DeadLetter> {
    let fields = with_members(fields);
    let text = |name| text_of(&fields, name);
    let JobPayload { content_type, method, path, headers, body, .. } = JobPayload::read(&fields);
    Some(DeadLetter {
        id: text("job")?.parse().ok()?,
        died_ms: entry.accepted_ms(),
        outcome: serde_json::from_str(&text("outcome")?).ok()?,
        caller: text("caller"),
        content_type,
        method,
        path,
        headers,
        replay_of: text(REPLAY_OF).and_then(|id| id.parse().ok()),
        body,
    })
}
