//! Checks the order of outcomes, the bytes of outcomes, dead letters and outbox, and whether streams have ids left.

use std::collections::{BTreeSet, HashMap};

use dripfeed_store::Script;
use redis::Value;

use super::finding::{FindingKind, Findings};
use super::jobs::JobCheck;
use crate::error::BucketError;
use crate::inspect::pagination::LARGEST_ID;
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static LISTED: Script = Script::new("check_outcome_order", SHARED, include_str!("check_outcome_order.lua"));
static RECORDED: Script = Script::new("check_outcome_records", SHARED, include_str!("check_outcome_records.lua"));
static NO_IDS: Script = Script::new("check_largest_ids", SHARED, include_str!("check_largest_ids.lua"));
static COUNTED: Script = Script::new("check_byte_counts", SHARED, include_str!("check_byte_counts.lua"));

/// The maximum number of counts, if records are added or removed during each.
const TRIES: usize = 3;
/// The number of outcomes, or of outcome jobs, in one page. Each outcome may contain a long answer.
const OUTCOMES: usize = 50;
/// The number of members of `ended` in one page, each with up to a hundred ids of jobs.
const MEMBERS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeptRecords {
    Letters,
    Outcomes,
    Outbox,
}

impl KeptRecords {
    pub(super) const ALL: [Self; 3] = [Self::Letters, Self::Outcomes, Self::Outbox];

    pub(super) const fn unchecked(self) -> &'static str {
        match self {
            Self::Letters => "bytes of the dead letters: jobs ended during the count",
            Self::Outcomes => "bytes of the outcomes: jobs ended during the count",
            Self::Outbox => "bytes of the outbox: outcome jobs were added or removed during the count",
        }
    }

    /// The field of the tally with the byte count.
    const fn counter(self) -> &'static str {
        match self {
            Self::Letters => "dead_bytes",
            Self::Outcomes => "outcomes_bytes",
            Self::Outbox => "outbox_bytes",
        }
    }

    const fn finding(self) -> FindingKind {
        match self {
            Self::Letters => FindingKind::LetterBytesMiscounted,
            Self::Outcomes => FindingKind::OutcomeBytesMiscounted,
            Self::Outbox => FindingKind::OutboxBytesMiscounted,
        }
    }
}

/// The reply of kept.lua.
struct CountedBytes {
    moment: String,
    bytes: u64,
}

impl RedisBucket {
    pub(super) async fn examine_outcomes(&self, repair: bool, findings: &mut Findings) -> Result<(), BucketError> {
        let keys = [self.keys.outcomes(), self.keys.ended()];
        let check = JobCheck { name: "check_outcome_order", script: &LISTED, keys: &keys, arguments: &[], repair };
        let (mut cursor, mut wrong) = (0, BTreeSet::new());
        loop {
            let (next, page) = self.page_of_outcomes(cursor).await?;
            let ids: Vec<String> = page.into_iter().map(|(id, _)| id).collect();
            wrong.extend(self.examine_each(&check, &ids).await?);
            if next == 0 {
                break;
            }
            cursor = next;
        }
        let mut rank = 0;
        loop {
            let mut call = RECORDED.on(&keys);
            call.arg(u8::from(repair)).arg(rank).arg(MEMBERS);
            let mut reply = Reply::new("check_outcome_records", self.store.run::<Value>(&call).await?)?;
            let members = usize::try_from(reply.count()?).unwrap_or(usize::MAX);
            let mut missing = Vec::new();
            while !reply.is_empty() {
                missing.push(reply.text()?);
            }
            // A repair changes the ranks of members, so the same ranks are read again.
            if missing.is_empty() || !repair {
                rank += members;
            }
            let at_end = members < MEMBERS && (missing.is_empty() || !repair);
            wrong.extend(missing);
            if at_end {
                break;
            }
        }
        wrong.into_iter().for_each(|id| findings.one(FindingKind::OutcomesNotListed, id));
        Ok(())
    }

    /// Checks a byte count. Returns false if records were added or removed during each count.
    pub(super) async fn examine_bytes(
        &self,
        kept: KeptRecords,
        repair: bool,
        findings: &mut Findings,
    ) -> Result<bool, BucketError> {
        for _ in 0..TRIES {
            let before = self.counted(kept, "", 0).await?;
            let bytes = match kept {
                KeptRecords::Letters => self.examine_buried(false, &mut Findings::default()).await?.values().sum(),
                KeptRecords::Outcomes => self.bytes_of_outcomes().await?,
                KeptRecords::Outbox => self.bytes_of_outbox().await?,
            };
            let after = self.counted(kept, "", 0).await?;
            if before.moment != after.moment {
                continue;
            }
            if after.bytes != bytes {
                findings.one(kept.finding(), format!("{} counted, {bytes} found", after.bytes));
                if repair {
                    self.counted(kept, &after.moment, bytes).await?;
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    async fn counted(&self, kept: KeptRecords, moment: &str, bytes: u64) -> Result<CountedBytes, BucketError> {
        let keys = &self.keys;
        let place = match kept {
            KeptRecords::Letters => keys.dead(),
            KeptRecords::Outcomes => keys.outcomes(),
            KeptRecords::Outbox => keys.outbox(),
        };
        let mut call = COUNTED.on(&[keys.tally(), place]);
        call.arg(kept.counter()).arg(moment).arg(bytes);
        let mut reply = Reply::new("check_byte_counts", self.store.run::<Value>(&call).await?)?;
        Ok(CountedBytes { moment: reply.text()?, bytes: reply.count()? })
    }

    /// Reports streams to which Redis adds no entries, because the largest id is used.
    pub(super) async fn examine_ids(&self, findings: &mut Findings) -> Result<(), BucketError> {
        let (jobs, dead) = (self.keys.jobs(), self.keys.dead());
        let (of_jobs, letters): (u64, u64) = self.store.run(&NO_IDS.on(&[jobs.clone(), dead.clone()])).await?;
        findings.many(FindingKind::NoIdsForJobs, of_jobs, jobs);
        findings.many(FindingKind::NoIdsForLetters, letters, dead);
        Ok(())
    }

    /// Reports oversized outcome jobs, as the last pass over the outbox counted them.
    pub(super) async fn examine_outbox(&self, findings: &mut Findings) -> Result<(), BucketError> {
        let mut oversized = redis::cmd("HGET");
        oversized.arg(self.keys.tally()).arg("outbox_oversized");
        let oversized: Option<u64> = self.store.command(&oversized).await?;
        findings.many(FindingKind::OutcomeJobOversized, oversized.unwrap_or(0), "");
        Ok(())
    }

    /// Returns the bytes of the names and values of all entries.
    async fn bytes_of_outbox(&self) -> Result<u64, BucketError> {
        let (mut bytes, mut from) = (0, "-".to_owned());
        loop {
            let mut range = redis::cmd("XRANGE");
            range.arg(self.keys.outbox()).arg(&from).arg("+").arg("COUNT").arg(OUTCOMES);
            let page: Vec<(String, Vec<Vec<u8>>)> = self.store.command(&range).await?;
            bytes += page.iter().flat_map(|(_, fields)| fields).map(|text| text.len() as u64).sum::<u64>();
            match page.last() {
                Some((last, _)) if *last != LARGEST_ID.to_string() => from = format!("({last}"),
                _ => return Ok(bytes),
            }
        }
    }

    async fn bytes_of_outcomes(&self) -> Result<u64, BucketError> {
        // By id, because HSCAN may return an outcome twice.
        let (mut bytes, mut cursor) = (HashMap::new(), 0);
        loop {
            let (next, page) = self.page_of_outcomes(cursor).await?;
            bytes.extend(page);
            if next == 0 {
                return Ok(bytes.into_values().sum());
            }
            cursor = next;
        }
    }

    /// Returns the next cursor, 0 at the end, and the ids and sizes of some outcomes.
    async fn page_of_outcomes(&self, cursor: u64) -> Result<(u64, Vec<(String, u64)>), BucketError> {
        let mut scan = redis::cmd("HSCAN");
        scan.arg(self.keys.outcomes()).arg(cursor).arg("COUNT").arg(OUTCOMES);
        let (next, fields): (u64, Vec<Vec<u8>>) = self.store.command(&scan).await?;
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        let pairs = fields.chunks_exact(2).map(|pair| (text(&pair[0]), pair[1].len() as u64));
        Ok((next, pairs.collect()))
    }
}
