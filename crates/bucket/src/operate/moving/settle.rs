//! Ends the jobs that the target bucket has accepted.

use dripfeed_job::JobId;

use super::Mover;
use super::admit::MoveResult;
use super::leaving::MovePosition;
use crate::admission::{RefusalReason, Refused};
use crate::error::BucketError;
use crate::script::scripts::Scripts;
use crate::settings::on_outcome::OnOutcome;

static MOVED: Scripts = Scripts::new("moved", include_str!("../moved.lua"));

impl Mover {
    /// Ends the jobs that the other bucket has accepted, and advances the position up to the first job that it refused
    /// for now. Returns this refusal. Jobs whose callers' shares are used up are skipped until the next pass.
    pub(super) async fn settle(
        &mut self,
        ids: &[JobId],
        results: Vec<MoveResult>,
    ) -> Result<Option<Refused>, BucketError> {
        let (mut ended, mut stay, mut stopped) = (Vec::new(), 0, None);
        let mut position = self.position.clone();
        for (id, result) in ids.iter().zip(results) {
            let goes_on = stopped.is_none();
            match result {
                MoveResult::Ended(new) => ended.push((*id, new)),
                MoveResult::Left(why) => {
                    stay += u64::from(goes_on);
                    self.progress.left.insert(*id, why);
                }
                MoveResult::Later(refused) if refused.reason == RefusalReason::ShareUsedUp => {
                    stay += u64::from(goes_on);
                    self.later = Some(sooner(self.later.take(), refused));
                }
                MoveResult::Later(refused) => {
                    stopped.get_or_insert(refused);
                }
            }
            if stopped.is_none() {
                position = self.position.after(*id, stay);
            }
        }
        self.end(&ended).await?;
        self.position = position;
        Ok(stopped)
    }

    async fn end(&mut self, ended: &[(JobId, Option<JobId>)]) -> Result<(), BucketError> {
        if ended.is_empty() {
            return Ok(());
        }
        let settings = self.redis_bucket.settings();
        let mut call = MOVED.of(self.redis_bucket.kind).on(&self.redis_bucket.keys.to_cancel(&OnOutcome::default()));
        call.arg(settings.keep.packed()).arg(self.into.name().as_str());
        call.arg(match &self.position {
            MovePosition::Id(_) => 0,
            MovePosition::Tail(stay) => *stay,
        });
        for (id, new) in ended {
            call.arg(id.to_string()).arg(new.map(|new| new.to_string()).unwrap_or_default());
        }
        let gone: u64 = self.redis_bucket.store.run_durably(&call).await?;
        let expired = ended.iter().filter(|(_, new)| new.is_none()).count() as u64;
        let missing = (ended.len() as u64).saturating_sub(gone);
        self.progress.expired += expired;
        self.progress.moved += (ended.len() as u64).saturating_sub(expired + missing);
        self.progress.doubled += missing;
        Ok(())
    }
}

/// Returns the refusal that may be retried first.
fn sooner(before: Option<Refused>, refused: Refused) -> Refused {
    match before {
        Some(before) if before.retry_after <= refused.retry_after => before,
        _ => refused,
    }
}
