//! One outcome job in the outbox, and its submission to the target bucket.

use bytes::Bytes;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::outcome::outcome_job;
use dripfeed_job::{BucketName, Chain, JobId, Outcome, Submission};

/// In bytes, as LONGEST_CALLER in now.lua: replacing what isn't UTF-8 makes a caller longer.
const LONGEST_CALLER: usize = 256;

/// As outcome_jobs.lua writes it.
pub(super) struct OutcomeJob {
    /// Of its entry in the outbox.
    pub(super) entry: String,
    pub(super) to: BucketName,
    job: JobId,
    ended_ms: u64,
    depth: u32,
    outcome: Outcome,
    /// Of the bucket that it comes from.
    from: BucketName,
    key: IdempotencyKey,
}

impl OutcomeJob {
    /// None for what somebody else has put there.
    pub(super) fn read(from: &BucketName, entry: String, fields: &[(Bytes, Bytes)]) -> Option<Self> {
        let text = |name: &str| {
            let found = fields.iter().find(|(field, _)| field == name)?;
            std::str::from_utf8(&found.1).ok()
        };
        let job: JobId = text("job")?.parse().ok()?;
        let record = fields.iter().find(|(field, _)| field == "outcome")?;
        // Somebody else may have written the job's caller.
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

    /// The same each time: its bucket knows it by its idempotency key.
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
