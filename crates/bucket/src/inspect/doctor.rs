//! Examines the invariants of a bucket in Redis, and repairs what is broken: a bounded part in each script, while
//! others go on.
//!
//! What is judged of one job is judged at one moment. What is judged of all together is counted part by part, and holds
//! only when no job came or went meanwhile: else it is reported as not checked.

mod counts;
mod finding;
mod jobs;
mod kept;
mod letters;

pub use finding::{Finding, FindingKind};

use finding::Findings;
use kept::KeptRecords;

use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::settings::Kind;

/// What was found, and what couldn't be looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    pub findings: Vec<Finding>,
    /// What wasn't checked, and why, in words.
    pub unchecked: Vec<&'static str>,
}

impl RedisBucket {
    /// Brings back each job of this place that nobody would ever take: one by one, so that nothing is changed that a
    /// bucket of this name with another kind or key shares.
    pub(crate) async fn repair_jobs(&self) -> Result<Vec<Finding>, BucketError> {
        let mut findings = Findings::default();
        match self.kind {
            Kind::Stream => self.examine_jobs(true, &mut findings).await.map(drop)?,
            Kind::List => self.examine_holdings(true, &mut findings).await?,
        }
        Ok(findings.into_findings())
    }

    /// What doesn't hold; with `repair`, what didn't and was repaired as far as it can be.
    pub(crate) async fn examine(&self, repair: bool) -> Result<Examination, BucketError> {
        let (mut findings, mut unchecked) = (Findings::default(), Vec::new());
        if !self.examine_jobs_and_counts(repair, &mut findings).await? {
            unchecked.push("what jobs count, in bytes and by caller: jobs came or went while they were counted");
        }
        match self.kind {
            Kind::Stream => {
                self.examine_due_times(repair, &mut findings).await?;
                self.examine_kept_by_job(repair, &mut findings).await?;
            }
            Kind::List => {
                self.examine_holdings(repair, &mut findings).await?;
                if self.has_keys_of_a_list().await? {
                    unchecked.push("whether idempotency keys name jobs that are gone: a list can't be asked for a job");
                }
            }
        }
        self.examine_letters(repair, &mut findings).await?;
        self.examine_outcomes(repair, &mut findings).await?;
        for kept in KeptRecords::ALL {
            if !self.examine_bytes(kept, repair, &mut findings).await? {
                unchecked.push(kept.unchecked());
            }
        }
        self.examine_totals(&mut findings).await?;
        Ok(Examination { findings: findings.into_findings(), unchecked })
    }
}
