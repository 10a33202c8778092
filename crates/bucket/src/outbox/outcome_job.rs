//! One outcome job in the outbox, and its submission to the target bucket.

use bytes::Bytes;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::outcome::outcome_job;
use dripfeed_job::{BucketName, Chain, JobId, Outcome, Submission};

/// Maximum bytes of a caller, as LONGEST_CALLER in now.lua. Replacing invalid UTF-8 can make a caller longer.
const LONGEST_CALLER: usize = 256;

/// An outcome job as outcome_jobs.lua writes it.
pub(super) struct OutcomeJob {
    /// The id of its entry in the outbox.
    pub(super) entry: String,
    pub(super) to: BucketName,
    job: JobId,
    ended_ms: u64,
    depth: u32,
    outcome: Outcome,
    /// The bucket in which the job has ended.
    from: BucketName,
    key: IdempotencyKey,
}

impl OutcomeJob {
    /// Returns `None` if the entry isn't an outcome job, but was added by hand.
    pub(super) fn read(from: &BucketName, entry: String, fields: &[(Bytes, Bytes)]) -> Option<Self> {
        let text = |name: &str| {
            let found = fields.iter().find(|(field, _)| field == name)?;
            std::str::from_utf8(&found.1).ok()
        };
        let job: JobId = text("job")?.parse().ok()?;
        let record = fields.iter().find(|(field, _)| field == "outcome")?;
        // The caller of a job that was added by a plain XADD may have any bytes.
        let mut outcome = Outcome::from_record(&String::from_utf8_lossy(&record.1))?;
        if let Some(caller) = &mut outcome.caller {
            caller.truncate(caller.floor_char_boundary(LONGEST_CALLER));
        }
        Some(Self {
            key: IdempotencyKey::parse(&format!("{from}/{job}/{}", outcome.result)).ok()?,
            from: from.clone(),
            to: text("to")?.parse().ok()?,
            job,
            ended_ms: text("ended")?.parse().ok()?,
            depth: text("depth")?.parse().ok()?,
            outcome,
            entry,
        })
    }

    pub(super) fn caller(&self) -> Option<&str> {
        self.outcome.caller.as_deref()
    }

    /// The submission to the target bucket. Its idempotency key is the same in each try.
    pub(super) fn submission(&self) -> Submission {
        let submission = Submission {
            body: outcome_job::body(&self.from, self.job, &self.outcome, self.ended_ms).into(),
            content_type: Some("application/json".to_owned()),
            caller: self.outcome.caller.clone(),
            idempotency_key: Some(self.key.clone()),
            chain: Chain { depth: self.depth, targets: None },
            ..Submission::default()
        };
        #[cfg(feature = "planted-bugs")]
        if crate::script::fault_injection::has("outcome_without_key") {
            return Submission { idempotency_key: None, ..submission };
        }
        submission
    }
}
