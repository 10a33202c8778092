//! One connection that many callers share and that renews itself.
//!
//! A line is up, being renewed, or down. It is renewed when its connection is lost, after three
//! calls in a row without a reply, and after READONLY (a failover made its server a replica)
//! or, with Sentinel, NOREPLICAS (its replicas may have left it for another master). One
//! task renews it, with pauses that grow; whoever calls meanwhile waits for the first attempt and,
//! once that failed, is told at once. Connections that don't hold are renewed with growing pauses too:
//! a server that takes connections and then closes them makes neither a storm nor a full log.

mod link;
mod pauses;

use std::{
    fmt,
    future::Future,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use redis::{Cmd, FromRedisValue, Pipeline, RedisResult};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

pub(crate) use self::link::Link;
use self::{
    link::{Health, SETTLED},
    pauses::{pauses, rest},
};
use crate::{
    connector::Connector,
    error::{During, StoreError},
    followers::Followers,
    url::HostPort,
};

/// How long a call waits for a renewal that is under way.
const PATIENCE: Duration = Duration::from_millis(500);
pub(crate) struct Line {
    connector: Connector,
    response_timeout: Duration,
    state: watch::Sender<State>,
    /// Connections in a row that didn't hold.
    unsettled: AtomicU32,
    /// The server of the last connection, and who follows it.
    last: Mutex<(Option<HostPort>, Arc<Followers>)>,
}

#[derive(Clone)]
enum State {
    Up(Link),
    Renewing,
    Down(StoreError),
}

impl Line {
    /// Begins to connect; calls wait for the first attempt.
    pub(crate) fn open(connector: Connector, response_timeout: Duration) -> Arc<Self> {
        let line = Arc::new(Self {
            connector,
            response_timeout,
            state: watch::Sender::new(State::Renewing),
            unsettled: AtomicU32::new(0),
            last: Mutex::default(),
        });
        tokio::spawn(begin(Arc::downgrade(&line)));
        line
    }

    /// How the latest attempt to connect ended; returns when it has.
    pub(crate) async fn attempted(&self) -> Result<(), StoreError> {
        let mut changes = self.state.subscribe();
        match changes.wait_for(|state| !matches!(state, State::Renewing)).await.as_deref() {
            Ok(State::Down(error)) => Err(error.clone()),
            // The sender is `self`, so waiting can't fail.
            Ok(State::Up(_) | State::Renewing) | Err(_) => Ok(()),
        }
    }

    pub(crate) fn connector(&self) -> &Connector {
        &self.connector
    }

    pub(crate) fn is_up(&self) -> bool {
        matches!(*self.state.borrow(), State::Up(_))
    }

    /// Returns when the line is up: at once, or as soon as it is renewed.
    pub(crate) async fn up(&self) {
        let mut state = self.state.subscribe();
        // The sender is `self`, so waiting can't fail.
        let _ = state.wait_for(|state| matches!(state, State::Up(_))).await;
    }

    /// When a call that begins now must be over.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + PATIENCE + self.response_timeout
    }

    pub(crate) async fn command<T: FromRedisValue>(
        self: &Arc<Self>,
        during: During<'_>,
        cmd: &Cmd,
        deadline: Instant,
    ) -> Result<T, StoreError> {
        let Link { mut connection, health, .. } = self.link().await?;
        self.watched(&health, during, deadline, cmd.query_async(&mut connection)).await
    }

    pub(crate) async fn pipeline<T: FromRedisValue>(
        self: &Arc<Self>,
        during: During<'_>,
        pipeline: &Pipeline,
        deadline: Instant,
    ) -> Result<T, StoreError> {
        self.pipeline_on(&self.link().await?, during, pipeline, deadline).await
    }

    /// On one connection, and not on what may have taken its place.
    pub(crate) async fn pipeline_on<T: FromRedisValue>(
        self: &Arc<Self>,
        link: &Link,
        during: During<'_>,
        pipeline: &Pipeline,
        deadline: Instant,
    ) -> Result<T, StoreError> {
        let mut connection = link.connection.clone();
        self.watched(&link.health, during, deadline, pipeline.query_async(&mut connection)).await
    }

    /// The connection at hand, or the one that is being made.
    pub(crate) async fn link(&self) -> Result<Link, StoreError> {
        if let State::Up(link) = &*self.state.borrow() {
            return Ok(link.clone());
        }
        let mut changes = self.state.subscribe();
        let settled = changes.wait_for(|state| !matches!(state, State::Renewing));
        match timeout_at(Instant::now() + PATIENCE, settled).await {
            Ok(Ok(state)) => match &*state {
                State::Up(link) => Ok(link.clone()),
                State::Down(error) => Err(error.clone()),
                State::Renewing => Err(StoreError::unreachable(self.connector.address())),
            },
            Ok(Err(_)) | Err(_) => Err(StoreError::unreachable(self.connector.address())),
        }
    }

    /// Awaits a reply within the time limits and draws the conclusions for the connection.
    async fn watched<T>(
        self: &Arc<Self>,
        health: &Arc<Health>,
        during: During<'_>,
        deadline: Instant,
        reply: impl Future<Output = RedisResult<T>>,
    ) -> Result<T, StoreError> {
        let limit = deadline.min(Instant::now() + self.response_timeout);
        let error = match timeout_at(limit, reply).await {
            Ok(reply) => {
                health.silent_calls.store(0, Ordering::Relaxed);
                match reply {
                    Ok(value) => return Ok(value),
                    Err(error) => StoreError::calling(during, error),
                }
            }
            Err(_) => {
                health.silent_calls.fetch_add(1, Ordering::Relaxed);
                StoreError::timed_out(during)
            }
        };
        self.conclude(health, &error);
        Err(error)
    }

    /// A call on `link` was of no use.
    pub(crate) fn blame(self: &Arc<Self>, link: &Link, error: &StoreError) {
        self.conclude(&link.health, error);
    }

    fn conclude(self: &Arc<Self>, health: &Arc<Health>, error: &StoreError) {
        if health.is_ruined_by(error) {
            self.renew(health, error);
        }
    }

    /// Throws the connection of `health` away, unless somebody did so already, and begins to make
    /// a new one.
    fn renew(self: &Arc<Self>, health: &Arc<Health>, reason: &dyn fmt::Display) {
        let begun = self.state.send_if_modified(|state| match state {
            State::Up(link) if Arc::ptr_eq(&link.health, health) => {
                *state = State::Renewing;
                true
            }
            _ => false,
        });
        if begun {
            let unsettled = self.count_unsettled(health);
            let redis = self.connector.address();
            match unsettled {
                0 => tracing::warn!(%redis, %reason, "lost Redis, connecting anew"),
                1 => tracing::warn!(%redis, %reason, "lost Redis again at once; more of this at debug"),
                _ => tracing::debug!(%redis, %reason, "lost Redis again at once"),
            };
            tokio::spawn(keep_connecting(Arc::downgrade(self), unsettled));
        }
    }

    /// How many connections in a row, the one of `health` the last of them, didn't hold.
    fn count_unsettled(&self, health: &Health) -> u32 {
        if health.since.elapsed() >= SETTLED {
            self.unsettled.store(0, Ordering::Relaxed);
            return 0;
        }
        self.unsettled.fetch_add(1, Ordering::Relaxed) + 1
    }

    async fn connect(self: &Arc<Self>) -> Result<Link, StoreError> {
        let health = Arc::new(Health {
            since: Instant::now(),
            lost: AtomicBool::new(false),
            silent_calls: AtomicU32::new(0),
            may_be_replaced: self.connector.asks_sentinels(),
        });
        let (connection, server) = self.connector.connect(self.on_disconnect(&health)).await?;
        Ok(Link { connection, health, followers: self.followers_of(server.as_ref()) })
    }

    /// What is known of them already, where it is the server of the last connection.
    fn followers_of(&self, server: Option<&HostPort>) -> Arc<Followers> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0.as_ref() != server {
            *last = (server.cloned(), Arc::default());
        }
        Arc::clone(&last.1)
    }

    fn on_disconnect(self: &Arc<Self>, health: &Arc<Health>) -> impl Fn() + Send + Sync + 'static {
        let line = Arc::downgrade(self);
        let health = Arc::downgrade(health);
        move || {
            if let (Some(line), Some(health)) = (line.upgrade(), health.upgrade()) {
                health.lost.store(true, Ordering::SeqCst);
                line.renew(&health, &"the connection was closed");
            }
        }
    }

    /// Makes `link` the connection of this line. It may have been lost before anybody could see
    /// it: `lost` is set before the state is looked at, and read after the state is set.
    fn publish(self: &Arc<Self>, link: Link) {
        let health = Arc::clone(&link.health);
        self.state.send_replace(State::Up(link));
        if health.lost.load(Ordering::SeqCst) {
            self.renew(&health, &"the connection was closed");
        }
    }
}

/// The first attempt, which nobody needs to hear of when it succeeds.
async fn begin(weak: Weak<Line>) {
    let Some(line) = weak.upgrade() else { return };
    match line.connect().await {
        Ok(link) => line.publish(link),
        Err(error) => {
            line.state.send_replace(State::Down(error));
            drop(line);
            keep_connecting(weak, 0).await;
        }
    }
}

/// Connects until it succeeds or nobody holds the line any more, after a rest when connections don't
/// hold.
async fn keep_connecting(line: Weak<Line>, unsettled: u32) {
    tokio::time::sleep(rest(unsettled)).await;
    for pause in pauses() {
        let Some(line) = line.upgrade() else { return };
        match line.connect().await {
            Ok(link) => {
                let redis = line.connector.address();
                match unsettled {
                    0 => tracing::info!(%redis, "connected to Redis again"),
                    _ => tracing::debug!(%redis, "connected to Redis again"),
                }
                line.publish(link);
                return;
            }
            Err(error) => {
                line.state.send_replace(State::Down(error));
            }
        }
        drop(line);
        tokio::time::sleep(pause).await;
    }
}
