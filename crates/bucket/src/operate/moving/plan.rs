//! Decides what to do with each job.

use dripfeed_job::fingerprint::fingerprint;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::{JobId, StartTime, Submission};

use super::Mover;
use super::leaving::LeavingJob;
use crate::inspect::served::bucket_place::BucketPlace;
use crate::script::constants::LARGEST_BODY;

/// Digits of the fingerprint of the place's key that distinguish two places in an idempotency key.
const KEY_DIGITS: usize = 16;

pub(super) enum MovePlan {
    Move(Box<Submission>, Option<u64>),
    Expire,
    Leave(String),
}

impl Mover {
    pub(super) fn plan(&self, leaving: LeavingJob, now_ms: u64) -> MovePlan {
        let LeavingJob { id, due_ms, failures, is_dead, job } = leaving;
        if is_dead {
            return MovePlan::Leave("it has failed for good, and waits for room among the dead letters".to_owned());
        }
        let job = match job {
            Ok(job) => job,
            Err(unreadable) => return MovePlan::Leave(unreadable.to_string()),
        };
        // The deadline only applies until the first call.
        let deadline_ms = job.expires_ms.filter(|_| failures == 0);
        if deadline_ms.is_some_and(|deadline| deadline <= now_ms) {
            return MovePlan::Expire;
        }
        if job.body.len() > LARGEST_BODY {
            return MovePlan::Leave(format!("its body of {} bytes is too large for a bucket", job.body.len()));
        }
        let key = match IdempotencyKey::parse(&self.key_of(id)) {
            Ok(key) => key,
            Err(error) => return MovePlan::Leave(error.to_string()),
        };
        let due_ms = due_ms.or(job.due_ms).filter(|due| *due > now_ms);
        let submission = Submission {
            body: job.body,
            content_type: job.content_type,
            method: job.method,
            path: job.path,
            headers: job.headers,
            caller: job.caller,
            traceparent: job.traceparent,
            idempotency_key: Some(key),
            start: due_ms.map_or(StartTime::AtOnce, StartTime::At),
            expires_in: None,
            retries: job.retries,
            timeout: job.timeout,
            priority: job.priority,
            group: job.group,
            chain: job.chain,
        };
        MovePlan::Move(Box::new(submission), deadline_ms)
    }

    /// The idempotency key of the new job, with the place's key: jobs of two places of a name may have the same id.
    fn key_of(&self, id: JobId) -> String {
        let BucketPlace { bucket, key, .. } = &self.place;
        match key {
            None => format!("{bucket}/{id}"),
            Some(key) => {
                let key = fingerprint(&Submission { body: key.clone().into(), ..Submission::default() });
                format!("{bucket}/{id}/{}", &key[..KEY_DIGITS])
            }
        }
    }
}
