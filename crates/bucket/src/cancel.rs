//! Cancel: takes back what waits or is parked.

use std::sync::LazyLock;

use dripfeed_job::duration::ms_up;
use dripfeed_job::{Ending, JobId, State};

use crate::core::Core;
use crate::error::BucketError;
use crate::scripts::{HOLDERS, METER, NOW, RECORD, Scripts};

static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| {
    Scripts::new("cancel", |kind| vec![NOW, METER, HOLDERS, RECORD, kind.entry, kind.view, kind.cancel])
});

/// What became of a wish to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    Cancelled,
    /// A replica has it.
    InFlight,
    /// It had ended before.
    Ended(Ending),
    Unknown,
}

impl Core {
    /// A list bucket is looked through for the job.
    pub(crate) async fn cancel(&self, id: JobId) -> Result<Cancel, BucketError> {
        let settings = self.settings();
        let keys = &self.keys;
        let common = vec![keys.jobs(), keys.meter(), keys.tally(), keys.outcomes(), keys.ended(), keys.holders()];
        let mut call = SCRIPTS.of(self.kind).on(&keys.and_parked(common));
        call.arg(id.to_string()).arg(ms_up(settings.keep.outcomes)).arg(settings.keep.most_outcomes);
        loop {
            if self.store.run_durably::<String>(&call).await? == "cancelled" {
                return Ok(Cancel::Cancelled);
            }
            match self.find(id).await?.map(|job| job.state) {
                None => return Ok(Cancel::Unknown),
                Some(State::InFlight) => return Ok(Cancel::InFlight),
                Some(State::Ended(ending)) => return Ok(Cancel::Ended(ending)),
                // It was put back between the two questions.
                Some(State::Waiting | State::Parked) => {}
            }
        }
    }
}
