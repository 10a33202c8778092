//! What a list can't do, and how it is asked what it can't tell by itself: who holds which job.

use dripfeed_job::{Start, Submission};
use redis::Value;

use crate::core::Core;
use crate::error::BucketError;
use crate::scripts::Scripts;
use crate::settings::Kind;

impl Core {
    /// A list can't park, so it has no delay and no second attempt.
    pub(crate) fn refuse_unsupported(&self, submission: &Submission) -> Result<(), BucketError> {
        match self.kind {
            Kind::List if submission.start != Start::AtOnce => Err(BucketError::Unsupported("delay a job")),
            Kind::List if submission.retries.unwrap_or(0) > 0 => Err(BucketError::Unsupported("try a job again")),
            _ => Ok(()),
        }
    }

    /// Who takes jobs from a list, or did and still holds some.
    pub(crate) async fn takers(&self) -> Result<Vec<String>, BucketError> {
        let mut names = redis::cmd("HKEYS");
        names.arg(self.keys.takers());
        Ok(self.store.command(&names).await?)
    }

    /// Runs a script that looks for jobs wherever they are.
    pub(crate) async fn look(&self, scripts: &'static Scripts, args: &[&str]) -> Result<Value, BucketError> {
        let keys = &self.keys;
        if self.kind == Kind::Stream {
            let mut call = scripts.of(Kind::Stream).on(&[keys.jobs(), keys.parked(), keys.attempts()]);
            call.arg(args);
            return Ok(self.store.run(&call).await?);
        }
        loop {
            let takers = self.takers().await?;
            let taken = takers.iter().map(|consumer| keys.taken(consumer));
            let all: Vec<String> = [keys.jobs()].into_iter().chain(taken).chain([keys.takers()]).collect();
            let mut call = scripts.of(Kind::List).on(&all);
            call.arg(args).arg(&takers);
            let reply = self.store.run::<Value>(&call).await?;
            // Nil: a replica came or went between the two questions.
            if reply != Value::Nil {
                return Ok(reply);
            }
        }
    }
}
