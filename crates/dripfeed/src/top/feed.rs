//! The event stream of an intake; reconnects when it ends.

use std::time::Duration;

use dripfeed_client::{Client, ClientError};
use dripfeed_dashboard::frame::{self, Frame, Notice, Redis, RedisReadTimer};
use http::StatusCode;
use thiserror::Error;
use tokio::sync::{mpsc, watch};

use crate::client::{EventStream, RequestError, events};

/// The maximum wait before a stream is opened again, doubled after each failure up to `MOST_WAIT`. It is shortened
/// randomly, so that not all clients return at once.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const MOST_WAIT: Duration = Duration::from_secs(15);

/// What happens to the stream.
pub(super) enum FeedEvent {
    Opened(Installation),
    Frame(Box<Frame>),
    /// The current notices about Redis.
    OfRedis(Vec<Notice>),
    Lost {
        why: String,
        /// Whether the key isn't valid, or lacks a scope.
        forbidden: bool,
        retry_in: Duration,
    },
}

/// What the frames don't contain.
#[derive(Default)]
pub(super) struct Installation {
    /// Whether the key has the scope `operate`.
    pub(super) may_operate: bool,
    pub(super) may_see_redis: bool,
    /// Whether it is a playground (`dripfeed dev`), whose Redis may lack memory.
    pub(super) is_playground: bool,
    /// The notices about Redis; empty if the key may not see them.
    pub(super) of_redis: Vec<Notice>,
}

/// Why a stream ended.
#[derive(Debug, Error)]
enum Lost {
    #[error("the intake ended the stream")]
    Ended,
    #[error(transparent)]
    Failed(#[from] RequestError),
}

/// # Errors
/// When the server doesn't answer, or refuses.
pub(super) async fn open(server: &Client, states: &[String]) -> Result<(Installation, EventStream), ClientError> {
    let key = server.get("/v1/key").await?;
    let scopes = key["scopes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let may_operate = scopes.iter().any(|scope| scope == "operate");
    let stream = events(server, states).await?;
    let may_see_redis = key["all_buckets"] == true;
    // Only a playground has this route.
    let is_playground = may_see_redis && server.get("/v1/dev/upstream").await.is_ok();
    let of_redis = if may_see_redis { of_redis(server, is_playground).await } else { Vec::new() };
    Ok((Installation { may_operate, may_see_redis, is_playground, of_redis }, stream))
}

/// The notices about Redis; empty if the request fails, as a failure of Redis then shows in the buckets.
async fn of_redis(server: &Client, is_playground: bool) -> Vec<Notice> {
    let Ok(redis) = server.get("/v1/redis").await else { return Vec::new() };
    let Ok(redis) = serde_json::from_value::<Redis>(redis) else { return Vec::new() };
    frame::of_redis(&if is_playground { redis.of_playground() } else { redis })
}

/// The next frame. Returns `None` if the server has ended the stream.
async fn next(stream: &mut EventStream) -> Result<Option<Frame>, RequestError> {
    let Some(data) = stream.next().await? else { return Ok(None) };
    Ok(Some(serde_json::from_slice(&data).map_err(ClientError::Unexpected)?))
}

/// Sends events until the receiver is dropped. `wanted`: the buckets whose whole state each frame is to contain.
pub(super) async fn run(server: Client, mut wanted: watch::Receiver<Vec<String>>, events: mpsc::Sender<FeedEvent>) {
    let mut failures = 0;
    loop {
        let states = wanted.borrow_and_update().clone();
        let mut follower = Follower { server: &server, events: &events, failures: &mut failures };
        let ended = tokio::select! {
            ended = follower.follow(&states) => ended,
            changed = wanted.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        let Err(lost) = ended else { return };
        let retry_in = wait(failures, fastrand::f64());
        failures += 1;
        let lost = FeedEvent::Lost { forbidden: lost.is_forbidden(), why: lost.to_string(), retry_in };
        if events.send(lost).await.is_err() {
            return;
        }
        tokio::time::sleep(retry_in).await;
    }
}

struct Follower<'f> {
    server: &'f Client,
    events: &'f mpsc::Sender<FeedEvent>,
    /// Failures since the last frame.
    failures: &'f mut u32,
}

impl Follower<'_> {
    /// Sends the events of one stream. Returns `Ok` only when the receiver of the events was dropped.
    async fn follow(&mut self, states: &[String]) -> Result<(), Lost> {
        let (installation, mut stream) = open(self.server, states).await.map_err(RequestError::from)?;
        let Installation { may_see_redis, is_playground, .. } = installation;
        let mut turn = RedisReadTimer::default();
        let mut event = FeedEvent::Opened(installation);
        loop {
            if self.events.send(event).await.is_err() {
                return Ok(());
            }
            let frame = next(&mut stream).await?.ok_or(Lost::Ended)?;
            *self.failures = 0;
            if may_see_redis && turn.is_due(&frame) {
                let notices = FeedEvent::OfRedis(of_redis(self.server, is_playground).await);
                if self.events.send(notices).await.is_err() {
                    return Ok(());
                }
            }
            event = FeedEvent::Frame(Box::new(frame));
        }
    }
}

impl Lost {
    fn is_forbidden(&self) -> bool {
        let Self::Failed(RequestError::Failed(ClientError::Refused(problem))) = self else { return false };
        matches!(problem.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
    }
}

/// `chance`: random, between 0 and 1.
fn wait(failures: u32, chance: f64) -> Duration {
    let most = FIRST_WAIT.saturating_mul(1 << failures.min(10)).min(MOST_WAIT);
    most.mul_f64(0.5 + chance / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_bound_and_differ() {
        let seconds = |failures, chance| wait(failures, chance).as_secs_f64();
        assert_eq!([0, 1, 2, 5, 1000].map(|failures| seconds(failures, 1.0)), [0.5, 1.0, 2.0, 15.0, 15.0]);
        assert_eq!((seconds(0, 0.0), seconds(9, 0.0)), (0.25, 7.5));
    }
}
