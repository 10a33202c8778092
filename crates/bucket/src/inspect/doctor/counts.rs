//! Compares the totals with each other and with the jobs.

use std::collections::{HashMap, HashSet};

use redis::Value;

use super::finding::{FindingKind, Findings};
use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::Scripts;
use crate::settings::Kind;

static TOTALS: Scripts = Scripts::new("check_totals", include_str!("check_totals.lua"));

/// How often all jobs are counted again if some were added or removed during the count.
const TRIES: usize = 3;
/// The number of fields of a hash that are read, or corrected, in one call.
const CALLERS: usize = 500;
/// The suffix of the field with a caller's bytes.
const BYTES: &str = " bytes";

/// The sums over all jobs of a bucket.
#[derive(Default, PartialEq, Eq)]
pub(super) struct JobCounts {
    bytes: u64,
    /// The fields of `holders`, as script/counts.lua names them.
    held: HashMap<String, i64>,
    /// Ids of the counted jobs: a job that moves during the count may be read twice.
    seen: HashSet<String>,
}

impl JobCounts {
    pub(super) fn add(&mut self, id: String, bytes: u64, caller: String) {
        if !self.seen.insert(id) || bytes == 0 {
            return;
        }
        self.bytes += bytes;
        if !caller.is_empty() {
            *self.held.entry(format!("{caller}{BYTES}")).or_default() += i64::try_from(bytes).unwrap_or(i64::MAX);
            *self.held.entry(caller).or_default() += 1;
        }
    }
}

/// The reply of totals.lua.
struct StoredTotals {
    moment: String,
    bytes: i64,
    lost: u64,
    unchanged: bool,
}

impl RedisBucket {
    /// Checks each job (once), and the totals. Returns whether the totals could be compared with the jobs.
    pub(super) async fn examine_jobs_and_counts(
        &self,
        repair: bool,
        findings: &mut Findings,
    ) -> Result<bool, BucketError> {
        let mut first = true;
        let mut last: Option<JobCounts> = None;
        for _ in 0..=TRIES {
            let before = self.totals("", "", &[]).await?;
            let count = if first {
                self.examine_jobs(repair, findings).await?
            } else {
                self.examine_jobs(false, &mut Findings::default()).await?
            };
            first = false;
            let held = self.counted_as_held().await?;
            let after = self.totals("", "", &[]).await?;
            if before.moment != after.moment {
                last = None;
                continue;
            }
            let more = difference(&count, held);
            let agrees = i128::from(after.bytes) == i128::from(count.bytes) && more.is_empty();
            // In a list a job may have moved unseen. A difference is only reported if two successive counts are equal.
            if !agrees && self.kind == Kind::List && last.as_ref() != Some(&count) {
                last = Some(count);
                continue;
            }
            if !agrees {
                report(&count, &after, &more, findings);
                if repair {
                    self.count_again(&count, &after.moment, &more).await?;
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Reports lost jobs. With `repair` they are written off, so that they aren't reported again.
    pub(super) async fn examine_totals(&self, repair: bool, findings: &mut Findings) -> Result<(), BucketError> {
        let totals = if repair { self.write_off_lost().await? } else { self.totals("", "", &[]).await? };
        findings.many(FindingKind::Lost, totals.lost, "");
        Ok(())
    }

    async fn totals(&self, moment: &str, bytes: &str, more: &[(String, i64)]) -> Result<StoredTotals, BucketError> {
        self.call_totals(moment, bytes, false, more).await
    }

    async fn write_off_lost(&self) -> Result<StoredTotals, BucketError> {
        self.call_totals("", "", true, &[]).await
    }

    async fn call_totals(
        &self,
        moment: &str,
        bytes: &str,
        write_off: bool,
        more: &[(String, i64)],
    ) -> Result<StoredTotals, BucketError> {
        let keys = &self.keys;
        let all = vec![keys.jobs(), keys.tally(), keys.holders()];
        let mut call = TOTALS.of(self.kind).on(&keys.and_takers(all));
        call.arg(moment).arg(bytes).arg(u8::from(write_off));
        for (field, more) in more {
            call.arg(field).arg(*more);
        }
        let mut reply = Reply::new("check_totals", self.store.run::<Value>(&call).await?)?;
        Ok(StoredTotals {
            moment: reply.text()?,
            bytes: reply.number()?,
            lost: reply.count()?,
            unchanged: reply.count()? == 1,
        })
    }

    async fn count_again(&self, count: &JobCounts, moment: &str, more: &[(String, i64)]) -> Result<(), BucketError> {
        let mut unchanged = self.totals(moment, &count.bytes.to_string(), &[]).await?.unchanged;
        for part in more.chunks(CALLERS) {
            unchanged = unchanged && self.totals(moment, "", part).await?.unchanged;
        }
        Ok(())
    }

    /// Reads the counts by caller from `holders`.
    async fn counted_as_held(&self) -> Result<HashMap<String, i64>, BucketError> {
        let (mut counted, mut cursor) = (HashMap::new(), 0);
        loop {
            let (next, pairs) = self.scan(&self.keys.holders(), cursor).await?;
            counted.extend(pairs.into_iter().map(|(field, held)| (field, held.parse().unwrap_or(0))));
            if next == 0 {
                return Ok(counted);
            }
            cursor = next;
        }
    }

    /// Reads a part of a hash. Returns the next cursor, 0 at the end, and the fields with their values.
    pub(super) async fn scan(&self, key: &str, cursor: u64) -> Result<(u64, Vec<(String, String)>), BucketError> {
        let mut scan = redis::cmd("HSCAN");
        scan.arg(key).arg(cursor).arg("COUNT").arg(CALLERS);
        let (next, fields): (u64, Vec<Vec<u8>>) = self.store.command(&scan).await?;
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        let pairs = fields.chunks_exact(2).map(|pair| (text(&pair[0]), text(&pair[1])));
        Ok((next, pairs.collect()))
    }
}

/// Returns for each field of `holders` that differs from the jobs: the sum over the jobs minus the stored count.
fn difference(count: &JobCounts, counted: HashMap<String, i64>) -> Vec<(String, i64)> {
    let mut more = count.held.clone();
    for (field, held) in counted {
        *more.entry(field).or_default() -= held;
    }
    more.retain(|_, more| *more != 0);
    more.into_iter().collect()
}

fn report(count: &JobCounts, totals: &StoredTotals, more: &[(String, i64)], findings: &mut Findings) {
    if i128::from(totals.bytes) != i128::from(count.bytes) {
        let example = format!("{} counted, {} found", totals.bytes, count.bytes);
        findings.one(FindingKind::BytesMiscounted, example);
    }
    for (field, more) in more {
        let (caller, of) = field.strip_suffix(BYTES).map_or((field.as_str(), ""), |caller| (caller, BYTES));
        let word = if *more > 0 { "more" } else { "less" };
        findings.one(FindingKind::HoldersMiscounted, format!("{caller} has {}{of} {word}", more.unsigned_abs()));
    }
}
