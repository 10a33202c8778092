//! Checks the invariants of a bucket in Redis, and repairs violations: a bounded part in each script, while the bucket
//! is in use.
//!
//! Checks of a single job see it at one moment. Totals are counted in parts, and are compared only if no job was added
//! or removed during the count; otherwise they are reported as not checked.

mod counts;
mod finding;
mod jobs;
mod kept;
mod letters;

pub use finding::{Finding, FindingKind};

use finding::Findings;
use kept::KeptRecords;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::key_types::WrongType;
use crate::settings::Kind;

/// The findings, and what couldn't be checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    pub findings: Vec<Finding>,
    /// What wasn't checked, and why.
    pub unchecked: Vec<&'static str>,
}

impl Bucket {
    /// Repairs jobs that no replica would ever take, such as parked ones without a due time, and returns the findings.
    /// Repairs single jobs only, and nothing that a bucket of this name with another kind or key shares.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn repair_jobs(&self) -> Result<Vec<Finding>, BucketError> {
        let mut findings = Findings::default();
        match self.redis_bucket.kind {
            Kind::Stream => self.redis_bucket.examine_jobs(true, &mut findings).await.map(drop)?,
            Kind::List => self.redis_bucket.examine_holdings(true, &mut findings).await?,
        }
        Ok(findings.into_findings())
    }

    /// Returns which invariants don't hold in Redis, and with `repair` restores them as far as possible. Reads every
    /// job, a bounded part in each script. May be dropped between two scripts.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn examine(&self, repair: bool) -> Result<Examination, BucketError> {
        self.redis_bucket.in_own_kind(|| self.examine_all(repair)).await
    }

    async fn examine_all(&self, repair: bool) -> Result<Examination, BucketError> {
        let redis_bucket = &self.redis_bucket;
        let wrong = redis_bucket.wrong_types().await?;
        if !wrong.is_empty() {
            let finding = |wrong: &WrongType| Finding {
                kind: FindingKind::WrongType,
                count: 1,
                example: Some(wrong.to_string()),
            };
            let unchecked = vec!["all else: keys have wrong types"];
            return Ok(Examination { findings: wrong.iter().map(finding).collect(), unchecked });
        }
        let (mut findings, mut unchecked) = (Findings::default(), Vec::new());
        redis_bucket.examine_ids(&mut findings).await?;
        if !redis_bucket.examine_jobs_and_counts(repair, &mut findings).await? {
            unchecked.push("totals of jobs by bytes and by caller: jobs were added or removed during the count");
        }
        match redis_bucket.kind {
            Kind::Stream => {
                redis_bucket.examine_due_times(repair, &mut findings).await?;
                redis_bucket.examine_kept_by_job(repair, &mut findings).await?;
            }
            Kind::List => {
                redis_bucket.examine_holdings(repair, &mut findings).await?;
                if redis_bucket.has_keys_of_a_list().await? {
                    unchecked.push("idempotency keys of missing jobs: a list can't be searched for a job");
                }
            }
        }
        redis_bucket.examine_letters(repair, &mut findings).await?;
        redis_bucket.examine_outcomes(repair, &mut findings).await?;
        for kept in KeptRecords::ALL {
            if !redis_bucket.examine_bytes(kept, repair, &mut findings).await? {
                unchecked.push(kept.unchecked());
            }
        }
        redis_bucket.examine_outbox(&mut findings).await?;
        redis_bucket.examine_totals(repair, &mut findings).await?;
        Ok(Examination { findings: findings.into_findings(), unchecked })
    }
}
