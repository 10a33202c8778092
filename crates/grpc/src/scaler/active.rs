//! One stream of `StreamIsActive`.

use std::time::Duration;

use dripfeed_auth::WaitPermit;
use futures::{Stream, stream};
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

use super::asked::TriggerQuery;
use super::work::Work;
use crate::external_scaler::IsActiveResponse;

/// Short enough that the first job of an empty bucket is reported within a second.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

pub(super) struct ActiveStream {
    work: Work,
    query: TriggerQuery,
    draining: CancellationToken,
    ticks: Interval,
    /// The last value that was sent.
    active: Option<bool>,
    _permit: WaitPermit,
}

impl ActiveStream {
    pub(super) fn new(work: Work, query: TriggerQuery, draining: CancellationToken, permit: WaitPermit) -> Self {
        let mut ticks = interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { work, query, draining, ticks, active: None, _permit: permit }
    }

    /// Ends when the intake drains, or the key may no longer read the bucket.
    pub(super) fn answers(self) -> impl Stream<Item = Result<IsActiveResponse, Status>> {
        stream::unfold(Some(self), |stream| async move {
            let mut stream = stream?;
            match stream.next().await? {
                Ok(result) => Some((Ok(IsActiveResponse { result }), Some(stream))),
                Err(status) => Some((Err(status), None)),
            }
        })
    }

    /// Waits for the next change.
    async fn next(&mut self) -> Option<Result<bool, Status>> {
        loop {
            tokio::select! {
                _ = self.ticks.tick() => (),
                () = self.draining.cancelled() => return None,
            }
            match self.work.slots(&self.query).await {
                Ok(slots) if self.active != Some(slots.calls > 0) => {
                    self.active = Some(slots.calls > 0);
                    return self.active.map(Ok);
                }
                Ok(_) => (),
                // Redis is unavailable: tries again.
                Err(status) if status.code() == Code::Unavailable => (),
                Err(status) => return Some(Err(status)),
            }
        }
    }
}
