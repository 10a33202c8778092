//! Cancel: takes back what waits or is parked.

use std::sync::LazyLock;

use dripfeed_job::duration::ms_up;
use dripfeed_job::{Ending, JobId};
use dripfeed_store::Script;

use crate::core::Core;
use crate::error::BucketError;
use crate::scripts::{METER, NOW, RECORD};

static SCRIPT: LazyLock<Script> =
    LazyLock::new(|| Script::new("cancel", &[NOW, METER, RECORD, include_str!("cancel.lua")]));

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
    pub(crate) async fn cancel(&self, id: JobId) -> Result<Cancel, BucketError> {
        let settings = self.settings();
        let keys = &self.keys;
        let mut call = SCRIPT.on(&[
            keys.jobs(),
            keys.parked(),
            keys.meter(),
            keys.tally(),
            keys.attempts(),
            keys.outcomes(),
            keys.ended(),
        ]);
        call.arg(id.to_string()).arg(ms_up(settings.keep.outcomes)).arg(settings.keep.most_outcomes);
        match self.store.run::<String>(&call).await?.as_str() {
            "cancelled" => Ok(Cancel::Cancelled),
            "in_flight" => Ok(Cancel::InFlight),
            _ => Ok(self.outcome(id).await?.map_or(Cancel::Unknown, |ended| Cancel::Ended(ended.outcome.result))),
        }
    }
}
