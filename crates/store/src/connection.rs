//! A shared connection that reconnects automatically.
//!
//! It is up, reconnecting, or down. It is replaced when it is lost, after three calls in a row without a reply, and
//! after READONLY (a failover made its server a replica); with Sentinel also after NOREPLICAS (its replicas may have
//! moved to another master), and as soon as another connection finds a later master. One task reconnects with backoff.
//! Calls wait for its first attempt; once that has failed, they fail at once. If new connections are lost again at
//! once, the backoff applies to them, too, so that a server that accepts and closes connections causes neither a storm
//! of connections nor a flood of logs (`connection_log`).

pub(crate) mod asking;
pub(crate) mod bell;
pub(crate) mod connection_log;
mod health;
pub(crate) mod log_throttle;
mod reconnect_backoff;
pub(crate) mod recurring_failure;
pub(crate) mod redis_replicas;
pub(crate) mod restart_on_panic;
pub(crate) mod subscriptions;

use std::{
    future::Future,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use redis::{Cmd, FromRedisValue, Pipeline, RedisResult, aio::MultiplexedConnection};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

use self::{
    connection_log::{ConnectionLog, Renewal},
    health::{Health, SETTLED},
    reconnect_backoff::{pauses, rest},
    restart_on_panic::restart_on_panic,
};
use crate::connect::connector::Connector;
use crate::connect::latest_master::NamedMaster;
use crate::connection::redis_replicas::{RedisReplicas, ReplicasByServer};
use crate::error::{Operation, StoreError};
use crate::url::HostPort;

/// How long a call waits for a connection that is being opened.
const PATIENCE: Duration = Duration::from_millis(500);
const CLOSED: Renewal<'_> = Renewal::Lost(&"the connection was closed");

/// Failures to connect are logged only after this time. Callers get the error anyway, and a restarted server is back by
/// then.
const LOGGED_AFTER: Duration = Duration::from_secs(1);
/// The name of the task that connects.
const CONNECTING: &str = "connecting to Redis";

/// The number of connections that a store has made, to all of its servers. After another one, writes that the server
/// had confirmed may be lost: it was restarted from a snapshot, or a replica that had fallen behind has taken over.
///
/// Cheap to clone; clones share the number.
#[derive(Clone, Default)]
pub(crate) struct ConnectionsMade(Arc<AtomicU64>);

impl ConnectionsMade {
    /// Counts a connection. Called before the connection is used.
    fn one_more(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) struct Connection {
    connector: Connector,
    response_timeout: Duration,
    state: watch::Sender<ConnectionState>,
    /// The number of connections in a row that were soon lost.
    unsettled: AtomicU32,
    replicas: Arc<ReplicasByServer>,
    /// The replicas of the last connection's server. Keeps their entry in `replicas` until the next connection.
    last_replicas: Mutex<Option<Arc<RedisReplicas>>>,
    /// Shared by all connections to the server.
    log: Arc<ConnectionLog>,
    made: ConnectionsMade,
}

#[derive(Clone)]
enum ConnectionState {
    Up(ConnectionHandle),
    Renewing,
    Down(StoreError),
    /// Not opened again.
    Closed,
}

/// An open connection, and its state.
#[derive(Clone)]
pub(crate) struct ConnectionHandle {
    connection: MultiplexedConnection,
    health: Arc<Health>,
    /// The replicas of its server, shared by all connections to it.
    replicas: Arc<RedisReplicas>,
    /// The master that Sentinel named, if there is a Sentinel.
    master: Option<NamedMaster>,
}

impl ConnectionHandle {
    pub(crate) fn replicas(&self) -> &RedisReplicas {
        &self.replicas
    }
}

impl Connection {
    /// Begins to connect. Calls wait for the first attempt. Connections that share `replicas` share what they observe.
    pub(crate) fn open(
        connector: Connector,
        response_timeout: Duration,
        replicas: Arc<ReplicasByServer>,
        log: Arc<ConnectionLog>,
        made: ConnectionsMade,
    ) -> Arc<Self> {
        let connection = Arc::new(Self {
            connector,
            response_timeout,
            state: watch::Sender::new(ConnectionState::Renewing),
            unsettled: AtomicU32::new(0),
            replicas,
            last_replicas: Mutex::default(),
            log,
            made,
        });
        let weak = Arc::downgrade(&connection);
        tokio::spawn(restart_on_panic(CONNECTING, move || begin(weak.clone())));
        if connection.connector.asks_sentinels() {
            let changes = connection.connector.latest_master().changes();
            let weak = Arc::downgrade(&connection);
            let leave = move || leave_replaced_masters(weak.clone(), changes.clone());
            tokio::spawn(restart_on_panic("following Sentinel", leave));
        }
        connection
    }

    /// Waits for the end of the current attempt to connect, and returns its result.
    pub(crate) async fn attempted(&self) -> Result<(), StoreError> {
        let mut changes = self.state.subscribe();
        match changes.wait_for(|state| !matches!(state, ConnectionState::Renewing)).await.as_deref() {
            Ok(ConnectionState::Down(error)) => Err(error.clone()),
            Ok(ConnectionState::Closed) => Err(self.unreachable()),
            // The sender is `self`, so waiting can't fail.
            Ok(ConnectionState::Up(_) | ConnectionState::Renewing) | Err(_) => Ok(()),
        }
    }

    /// Disconnects for good. If the server stops afterwards, that isn't logged.
    pub(crate) fn close(&self) {
        self.state.send_replace(ConnectionState::Closed);
    }

    fn is_closed(&self) -> bool {
        matches!(*self.state.borrow(), ConnectionState::Closed)
    }

    /// Sets the state after an attempt to connect, unless the connection was closed meanwhile.
    fn set_state(&self, new: ConnectionState) {
        self.state.send_if_modified(|state| {
            let is_open = !matches!(state, ConnectionState::Closed);
            if is_open {
                *state = new;
            }
            is_open
        });
    }

    fn unreachable(&self) -> StoreError {
        StoreError::unreachable(self.connector.address())
    }

    pub(crate) fn connector(&self) -> &Connector {
        &self.connector
    }

    pub(crate) fn is_up(&self) -> bool {
        matches!(*self.state.borrow(), ConnectionState::Up(_))
    }

    /// Waits until the connection is up.
    pub(crate) async fn up(&self) {
        let mut state = self.state.subscribe();
        // The sender is `self`, so waiting can't fail.
        let _ = state.wait_for(|state| matches!(state, ConnectionState::Up(_))).await;
    }

    /// Returns the deadline of a call that begins now.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + PATIENCE + self.response_timeout
    }

    pub(crate) async fn command<T: FromRedisValue>(
        self: &Arc<Self>,
        during: Operation<'_>,
        cmd: &Cmd,
        deadline: Instant,
    ) -> Result<T, StoreError> {
        let ConnectionHandle { mut connection, health, .. } = self.handle().await?;
        self.watched(&health, during, deadline, cmd.query_async(&mut connection)).await
    }

    pub(crate) async fn pipeline<T: FromRedisValue>(
        self: &Arc<Self>,
        during: Operation<'_>,
        pipeline: &Pipeline,
        deadline: Instant,
    ) -> Result<T, StoreError> {
        self.pipeline_on(&self.handle().await?, during, pipeline, deadline).await
    }

    /// Runs a pipeline on this connection, even if it was replaced.
    pub(crate) async fn pipeline_on<T: FromRedisValue>(
        self: &Arc<Self>,
        handle: &ConnectionHandle,
        during: Operation<'_>,
        pipeline: &Pipeline,
        deadline: Instant,
    ) -> Result<T, StoreError> {
        let mut connection = handle.connection.clone();
        self.watched(&handle.health, during, deadline, pipeline.query_async(&mut connection)).await
    }

    /// Returns the current connection, or the one that is being opened.
    pub(crate) async fn handle(&self) -> Result<ConnectionHandle, StoreError> {
        if let ConnectionState::Up(handle) = &*self.state.borrow() {
            return Ok(handle.clone());
        }
        let mut changes = self.state.subscribe();
        let settled = changes.wait_for(|state| !matches!(state, ConnectionState::Renewing));
        match timeout_at(Instant::now() + PATIENCE, settled).await {
            Ok(Ok(state)) => match &*state {
                ConnectionState::Up(handle) => Ok(handle.clone()),
                ConnectionState::Down(error) => Err(error.clone()),
                ConnectionState::Renewing | ConnectionState::Closed => Err(self.unreachable()),
            },
            Ok(Err(_)) | Err(_) => Err(self.unreachable()),
        }
    }

    /// Waits for a reply within the time limits, and replaces the connection if its error requires that. Sends nothing
    /// after the deadline, which may have passed while the process was suspended.
    async fn watched<T>(
        self: &Arc<Self>,
        health: &Arc<Health>,
        during: Operation<'_>,
        deadline: Instant,
        reply: impl Future<Output = RedisResult<T>>,
    ) -> Result<T, StoreError> {
        if Instant::now() >= deadline {
            return Err(self.unreachable());
        }
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
        self.replace_if_ruined(health, &error);
        Err(error)
    }

    /// Replaces the connection of `handle` if `error` requires that.
    pub(crate) fn replace_if_broken(self: &Arc<Self>, handle: &ConnectionHandle, error: &StoreError) {
        self.replace_if_ruined(&handle.health, error);
    }

    fn replace_if_ruined(self: &Arc<Self>, health: &Arc<Health>, error: &StoreError) {
        if health.is_broken_by(error) {
            let renewal = if error.is_refusal() { Renewal::Refused(error) } else { Renewal::Lost(error) };
            self.renew(health, renewal);
        }
    }

    /// Drops the connection of `health` and begins to open a new one, unless that was done before.
    fn renew(self: &Arc<Self>, health: &Arc<Health>, renewal: Renewal<'_>) {
        let begun = self.state.send_if_modified(|state| match state {
            ConnectionState::Up(handle) if Arc::ptr_eq(&handle.health, health) => {
                *state = ConnectionState::Renewing;
                true
            }
            _ => false,
        });
        if begun {
            self.log.renews(self.connector.address(), renewal);
            let is_lost = matches!(renewal, Renewal::Lost(_));
            let (weak, unsettled) = (Arc::downgrade(self), self.count_unsettled(health));
            tokio::spawn(restart_on_panic(CONNECTING, move || keep_connecting(weak.clone(), unsettled, is_lost)));
        }
    }

    fn leave(self: &Arc<Self>, handle: &ConnectionHandle, latest: &NamedMaster) {
        if handle.master.as_ref().is_some_and(|master| master.is_replaced_by(latest)) {
            self.renew(&handle.health, Renewal::Lost(&"Sentinel named another master"));
        }
    }

    /// Counts the connection of `health`, which was lost. Returns how many in a row were soon lost.
    fn count_unsettled(&self, health: &Health) -> u32 {
        if health.since.elapsed() >= SETTLED {
            self.unsettled.store(0, Ordering::Relaxed);
            return 0;
        }
        self.unsettled.fetch_add(1, Ordering::Relaxed) + 1
    }

    async fn connect(self: &Arc<Self>) -> Result<ConnectionHandle, StoreError> {
        let health = Arc::new(Health {
            since: Instant::now(),
            lost: AtomicBool::new(false),
            silent_calls: AtomicU32::new(0),
            may_be_replaced: self.connector.asks_sentinels(),
        });
        let (connection, master) = self.connector.connect(self.on_disconnect(&health)).await?;
        let replicas = self.replicas_of(master.as_ref().map(|master| &master.at));
        Ok(ConnectionHandle { connection, health, replicas, master })
    }

    fn replicas_of(&self, server: Option<&HostPort>) -> Arc<RedisReplicas> {
        let replicas = self.replicas.of(server);
        *self.last_replicas.lock() = Some(Arc::clone(&replicas));
        replicas
    }

    fn on_disconnect(self: &Arc<Self>, health: &Arc<Health>) -> impl Fn() + Send + Sync + 'static {
        let connection = Arc::downgrade(self);
        let health = Arc::downgrade(health);
        move || {
            if let (Some(connection), Some(health)) = (connection.upgrade(), health.upgrade()) {
                health.lost.store(true, Ordering::SeqCst);
                connection.renew(&health, CLOSED);
            }
        }
    }

    /// Makes `handle` the current connection. Replaces it if it was lost before: `on_disconnect` sets `lost` before it
    /// checks the state, and this sets the state before it checks `lost`, so one of them sees the loss.
    fn publish(self: &Arc<Self>, handle: ConnectionHandle) {
        let health = Arc::clone(&handle.health);
        self.made.one_more();
        self.set_state(ConnectionState::Up(handle));
        if health.lost.load(Ordering::SeqCst) {
            self.renew(&health, CLOSED);
        }
    }
}

/// Reconnects as soon as another connection finds a later master. A connection that is being opened is checked once it
/// is up.
async fn leave_replaced_masters(connection: Weak<Connection>, mut changes: watch::Receiver<Option<NamedMaster>>) {
    while changes.changed().await.is_ok() {
        let Some(latest) = changes.borrow_and_update().clone() else { continue };
        let Some(mut state) = connection.upgrade().map(|connection| connection.state.subscribe()) else { return };
        let Ok(up) = state.wait_for(|state| matches!(state, ConnectionState::Up(_))).await.map(|up| up.clone()) else {
            return;
        };
        if let (ConnectionState::Up(handle), Some(connection)) = (up, connection.upgrade()) {
            connection.leave(&handle, &latest);
        }
    }
}

/// Makes the first attempt, of which a success isn't logged.
async fn begin(weak: Weak<Connection>) {
    let Some(connection) = weak.upgrade() else { return };
    match connection.connect().await {
        Ok(handle) => connection.publish(handle),
        Err(error) => {
            connection.set_state(ConnectionState::Down(error));
            drop(connection);
            keep_connecting(weak, 0, true).await;
        }
    }
}

/// Retries until it connects, or the connection is closed or dropped. First pauses if the last connections were soon
/// lost. `is_lost`: whether to log the reconnection.
async fn keep_connecting(connection: Weak<Connection>, unsettled: u32, mut is_lost: bool) {
    tokio::time::sleep(rest(unsettled)).await;
    let begun = Instant::now();
    for pause in pauses() {
        let Some(connection) = connection.upgrade().filter(|connection| !connection.is_closed()) else { return };
        let redis = connection.connector.address();
        match connection.connect().await {
            Ok(handle) => {
                if is_lost {
                    connection.log.reconnected(redis);
                }
                connection.publish(handle);
                return;
            }
            Err(error) => {
                is_lost = true;
                let lasted = begun.elapsed();
                if lasted >= LOGGED_AFTER {
                    connection.log.cannot_connect(redis, &error, lasted);
                }
                connection.set_state(ConnectionState::Down(error));
            }
        }
        drop(connection);
        tokio::time::sleep(pause).await;
    }
}
