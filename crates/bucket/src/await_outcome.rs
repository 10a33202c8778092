//! Waits for the end of a job: one question for all who wait, again and again while anybody does.

use std::sync::Arc;
use std::time::Duration;

use dripfeed_job::JobId;

use crate::batches::{Batches, Limits};
use crate::core::Core;
use crate::error::BucketError;
use crate::outcomes::EndedJob;

const LIMITS: Limits = Limits { items: 500, bytes: usize::MAX, calls: 1 };
/// Between two questions about one job.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) type Lookups = Batches<JobId, Result<Option<EndedJob>, BucketError>>;

pub(crate) fn start(core: Arc<Core>) -> Lookups {
    Batches::start(
        LIMITS,
        |_| 1,
        move |ids: Vec<JobId>| {
            let core = core.clone();
            async move {
                match core.outcomes_of(&ids).await {
                    Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
                    Err(error) => ids.iter().map(|_| Err(error.clone())).collect(),
                }
            }
        },
    )
}

/// None when the job hasn't ended within the time.
pub(crate) async fn wait(lookups: &Lookups, id: JobId, within: Duration) -> Result<Option<EndedJob>, BucketError> {
    let ended = async {
        loop {
            if let Some(ended) = lookups.put(id).await.ok_or(BucketError::Closing)?? {
                return Ok(ended);
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(within, ended).await.ok().transpose()
}
