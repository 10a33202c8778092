//! Checks each job of a stream, and the records that are kept by job; or the jobs and consumers of a list.

use std::collections::BTreeSet;

use dripfeed_store::Script;
use redis::Value;

use super::counts::JobCounts;
use super::finding::{FindingKind, Findings};
use crate::error::BucketError;
use crate::kind::list::ListScan;
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::{SHARED, STREAM, Scripts};
use crate::settings::Kind;

static SCRIPTS: Scripts = Scripts::of_kinds(
    "examine",
    include_str!("../../kind/stream/examine.lua"),
    include_str!("../../kind/list/examine.lua"),
);
static DUE_TIMES: Script = Script::new("check_due_times", STREAM, include_str!("check_due_times.lua"));
static FAILURES: Script = Script::new("check_attempt_records", STREAM, include_str!("check_attempt_records.lua"));
static CALLS: Script = Script::new("check_calls_in_flight", STREAM, include_str!("check_calls_in_flight.lua"));
static KEYED: Script = Script::new("check_idempotency_keys", STREAM, include_str!("check_idempotency_keys.lua"));
static HOLDINGS: Script = Script::new("check_claim_counts", SHARED, include_str!("check_claim_counts.lua"));

/// A script that checks jobs by id: its arguments are '1' to repair, `arguments`, and the ids.
pub(super) struct JobCheck<'e> {
    pub(super) name: &'static str,
    pub(super) script: &'e Script,
    pub(super) keys: &'e [String],
    pub(super) arguments: &'e [u64],
    pub(super) repair: bool,
}

impl RedisBucket {
    /// Checks each job of a stream. Returns the sums over all jobs, also those of a list.
    pub(super) async fn examine_jobs(&self, repair: bool, findings: &mut Findings) -> Result<JobCounts, BucketError> {
        match self.kind {
            Kind::Stream => self.examine_stream(repair, findings).await,
            Kind::List => self.examine_lists().await,
        }
    }

    async fn examine_stream(&self, repair: bool, findings: &mut Findings) -> Result<JobCounts, BucketError> {
        let keys = &self.keys;
        let (mut count, mut after) = (JobCounts::default(), String::new());
        loop {
            let known = [keys.jobs(), keys.replicas(), keys.pace(), keys.notices()]
                .into_iter()
                .chain(keys.in_order())
                .collect::<Vec<_>>();
            let mut call = SCRIPTS.of(Kind::Stream).on(&known);
            call.arg(&after).arg(u8::from(repair));
            let mut reply = Reply::new("examine", self.store.run::<Value>(&call).await?)?;
            after = reply.text()?;
            while !reply.is_empty() {
                let mut member = reply.array()?;
                let word = member.text()?;
                match FindingKind::of(&word) {
                    Some(kind) => findings.one(kind, member.text()?),
                    None => count.add(word, member.count()?, member.shown()?),
                }
            }
            if after.is_empty() {
                return Ok(count);
            }
        }
    }

    async fn examine_lists(&self) -> Result<JobCounts, BucketError> {
        let mut count = JobCounts::default();
        let mut scans = vec![ListScan::of_jobs(&self.keys)];
        scans.extend(self.taken_lists().await?);
        for mut scan in scans {
            while let Some(mut reply) = scan.next(self, &SCRIPTS, &[]).await? {
                while !reply.is_empty() {
                    let mut job = reply.array()?;
                    count.add(job.text()?, job.count()?, job.shown()?);
                }
            }
        }
        Ok(count)
    }

    pub(super) async fn examine_due_times(&self, repair: bool, findings: &mut Findings) -> Result<(), BucketError> {
        let (mut due, mut seen) = ("-inf".to_owned(), 0);
        let mut wrong = BTreeSet::new();
        while !due.is_empty() {
            let mut call = DUE_TIMES.on(&[self.keys.jobs(), self.keys.parked()]);
            call.arg(&due).arg(seen).arg(u8::from(repair));
            let mut reply = Reply::new("check_due_times", self.store.run::<Value>(&call).await?)?;
            (due, seen) = (reply.text()?, reply.count()?);
            while !reply.is_empty() {
                wrong.insert(reply.shown()?);
            }
        }
        wrong.into_iter().for_each(|id| findings.one(FindingKind::DueButNotParked, id));
        Ok(())
    }

    /// Checks the records that a stream bucket keeps by job id: whether their jobs exist, or are in flight.
    pub(super) async fn examine_kept_by_job(&self, repair: bool, findings: &mut Findings) -> Result<(), BucketError> {
        let (keys, window) = (&self.keys, self.effective_settings().settings.keep.keys_ms());
        let attempts = (&FAILURES, vec![keys.jobs(), keys.attempts()], vec![]);
        let unburied = (&FAILURES, vec![keys.jobs(), keys.unburied()], vec![]);
        let failed = (&FAILURES, vec![keys.jobs(), keys.failed()], vec![]);
        let keyed = (&KEYED, vec![keys.jobs(), keys.keyed_jobs(), keys.key_ends()], vec![window]);
        let known = [keys.jobs(), keys.flow_state(), keys.notices()].into_iter().chain(keys.in_order());
        let calls = (&CALLS, known.collect(), vec![]);
        for (kind, (script, keys, arguments)) in [
            (FindingKind::AttemptsOfNothing, attempts),
            (FindingKind::AttemptsOfNothing, failed),
            (FindingKind::RecordOfNothing, unburied),
            (FindingKind::IdempotencyKeyOfNothing, keyed),
            (FindingKind::CallsMiscounted, calls),
        ] {
            let check = JobCheck { name: kind.word(), script, keys: &keys, arguments: &arguments, repair };
            let (mut cursor, mut wrong) = (0, BTreeSet::new());
            loop {
                let (next, kept) = self.scan(&keys[1], cursor).await?;
                let ids: Vec<String> = kept.into_iter().map(|(id, _)| id).collect();
                wrong.extend(self.examine_each(&check, &ids).await?);
                if next == 0 {
                    break;
                }
                cursor = next;
            }
            wrong.into_iter().for_each(|id| findings.one(kind, id));
        }
        Ok(())
    }

    /// Whether jobs of a list bucket have idempotency keys. A list can't be searched for these jobs.
    pub(super) async fn has_keys_of_a_list(&self) -> Result<bool, BucketError> {
        let mut keyed = redis::cmd("HLEN");
        keyed.arg(self.keys.keyed_jobs());
        Ok(self.store.command::<u64>(&keyed).await? > 0)
    }

    /// Returns those of `ids` that the script finds wrong. Calls it until all are checked.
    pub(super) async fn examine_each(&self, check: &JobCheck<'_>, ids: &[String]) -> Result<Vec<String>, BucketError> {
        let (mut wrong, mut rest) = (Vec::new(), ids);
        while !rest.is_empty() {
            let mut call = check.script.on(check.keys);
            call.arg(u8::from(check.repair)).arg(check.arguments).arg(rest);
            let mut reply = Reply::new(check.name, self.store.run::<Value>(&call).await?)?;
            // The script always checks at least the first one.
            let looked_at = usize::try_from(reply.count()?).unwrap_or(usize::MAX).max(1);
            rest = rest.get(looked_at..).unwrap_or_default();
            while !reply.is_empty() {
                wrong.push(reply.shown()?);
            }
        }
        Ok(wrong)
    }

    /// Checks the claimed jobs of all consumers of a list bucket, and their counts.
    pub(super) async fn examine_holdings(&self, repair: bool, findings: &mut Findings) -> Result<(), BucketError> {
        let keys = &self.keys;
        for consumer in self.takers().await? {
            let mut call = HOLDINGS.on(&[keys.taken(&consumer), keys.replicas(), keys.takers()]);
            call.arg(&consumer).arg(u8::from(repair));
            let mut reply = Reply::new("check_claim_counts", self.store.run::<Value>(&call).await?)?;
            let (held, counted, is_member) = (reply.count()?, reply.number()?, !reply.text()?.is_empty());
            if i64::try_from(held).ok() != Some(counted) {
                findings.one(FindingKind::HeldMiscounted, format!("{consumer}: {counted} counted, {held} found"));
            }
            if held > 0 && !is_member {
                findings.many(FindingKind::HeldByNoMember, held, &consumer);
                if repair {
                    self.take_over(&consumer, "").await?;
                }
            }
        }
        Ok(())
    }
}
