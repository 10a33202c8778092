//! A shared connection that reconnects automatically.
//!
//! It is up, reconnecting, or down. It is replaced when it is lost, after three calls in a row without a reply, after
//! READONLY (a failover made its server a replica), and with Sentinel after NOREPLICAS (its replicas may have moved to
//! another master), or as soon as another connection was led to a later master. One task reconnects with backoff. Calls
//! meanwhile wait for the first attempt; once that has failed, they get the error at once. If new connections are
//! lost again at once, the backoff applies to them too, so that a server that accepts and closes connections causes no
//! connection storm. Nor does it cause a flood of logs (`connection_log`).

pub(crate) mod asking;
pub(crate) mod bell;
pub(crate) mod connection_log;
pub(crate) mod connections_made;
mod health;
pub(crate) mod lasting_task;
pub(crate) mod log_throttle;
mod reconnect_backoff;
pub(crate) mod redis_replicas;
pub(crate) mod subscriptions;
pub(crate) mod trouble;

use std::{
    future::Future,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU32, Ordering},
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
    connections_made::ConnectionsMade,
    health::{Health, SETTLED},
    lasting_task::keep_running,
    reconnect_backoff::{pauses, rest},
};
use crate::connect::connector::Connector;
use crate::connect::latest_master::NamedMaster;
use crate::connection::redis_replicas::{RedisReplicas, ReplicasByServer};
use crate::error::{Operation, StoreError};
use crate::url::HostPort;

/// How long a call waits for a renewal that is under way.
const PATIENCE: Duration = Duration::from_millis(500);
const CLOSED: Renewal<'_> = Renewal::Lost(&"the connection was closed");

/// Who asks for a connection is shown why it can't be made. A command then ends, and a server that was restarted is
/// back: only failures after this time are logged.
const LOGGED_AFTER: Duration = Duration::from_secs(1);
/// The name of the task that does it.
const CONNECTING: &str = "connecting to Redis";

pub(crate) struct Connection {
    connector: Connector,
    response_timeout: Duration,
    state: watch::Sender<ConnectionState>,
    /// Connections in a row that didn't hold.
    unsettled: AtomicU32,
    replicas: Arc<ReplicasByServer>,
    /// Those of the server of the last connection, remembered until the next one.
    last: Mutex<Option<Arc<RedisReplicas>>>,
    /// That of all connections to the server.
    log: Arc<ConnectionLog>,
    made: ConnectionsMade,
}

#[derive(Clone)]
enum ConnectionState {
    Up(ConnectionHandle),
    Renewing,
    Down(StoreError),
    /// For good.
    Closed,
}

/// A connection and what is known of it.
#[derive(Clone)]
pub(crate) struct ConnectionHandle {
    connection: MultiplexedConnection,
    health: Arc<Health>,
    /// Of that server, over all connections to it in a row.
    replicas: Arc<RedisReplicas>,
    /// With Sentinel, where it leads.
    master: Option<NamedMaster>,
}

impl ConnectionHandle {
    pub(crate) fn replicas(&self) -> &RedisReplicas {
        &self.replicas
    }
}

impl Connection {
    /// Begins to connect; calls wait for the first attempt. Connections that share `replicas` know what one of them has
    /// seen.
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
            last: Mutex::default(),
            log,
            made,
        });
        let weak = Arc::downgrade(&connection);
        tokio::spawn(keep_running(CONNECTING, move || begin(weak.clone())));
        if connection.connector.asks_sentinels() {
            let changes = connection.connector.latest_master().changes();
            let weak = Arc::downgrade(&connection);
            let leave = move || leave_replaced_masters(weak.clone(), changes.clone());
            tokio::spawn(keep_running("following Sentinel", leave));
        }
        connection
    }

    /// How the latest attempt to connect ended; returns when it has.
    pub(crate) async fn attempted(&self) -> Result<(), StoreError> {
        let mut changes = self.state.subscribe();
        match changes.wait_for(|state| !matches!(state, ConnectionState::Renewing)).await.as_deref() {
            Ok(ConnectionState::Down(error)) => Err(error.clone()),
            Ok(ConnectionState::Closed) => Err(self.unreachable()),
            // The sender is `self`, so waiting can't fail.
            Ok(ConnectionState::Up(_) | ConnectionState::Renewing) | Err(_) => Ok(()),
        }
    }

    /// Disconnects, and makes no new connection: a server that stops after that isn't reported as lost.
    pub(crate) fn close(&self) {
        self.state.send_replace(ConnectionState::Closed);
    }

    fn is_closed(&self) -> bool {
        matches!(*self.state.borrow(), ConnectionState::Closed)
    }

    /// As an attempt to connect ended, unless the connection was closed meanwhile.
    fn settle(&self, settled: ConnectionState) {
        self.state.send_if_modified(|state| {
            let is_open = !matches!(state, ConnectionState::Closed);
            if is_open {
                *state = settled;
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

    /// Returns when the connection is up: at once, or as soon as it is renewed.
    pub(crate) async fn up(&self) {
        let mut state = self.state.subscribe();
        // The sender is `self`, so waiting can't fail.
        let _ = state.wait_for(|state| matches!(state, ConnectionState::Up(_))).await;
    }

    /// When a call that begins now must be over.
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

    /// On one connection, and not on what may have taken its place.
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

    /// The current connection, or the one that is being opened.
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

    /// Awaits a reply within the time limits and draws the conclusions for the connection. Nothing is sent when the
    /// time is over: a process that stood still goes on here.
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
        self.conclude(health, &error);
        Err(error)
    }

    /// A call on `handle` was of no use.
    pub(crate) fn blame(self: &Arc<Self>, handle: &ConnectionHandle, error: &StoreError) {
        self.conclude(&handle.health, error);
    }

    fn conclude(self: &Arc<Self>, health: &Arc<Health>, error: &StoreError) {
        if health.is_ruined_by(error) {
            let renewal = if error.is_refusal() { Renewal::Refused(error) } else { Renewal::Lost(error) };
            self.renew(health, renewal);
        }
    }

    /// Throws the connection of `health` away, unless somebody did so already, and begins to make
    /// a new one.
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
            tokio::spawn(keep_running(CONNECTING, move || keep_connecting(weak.clone(), unsettled, is_lost)));
        }
    }

    fn leave(self: &Arc<Self>, handle: &ConnectionHandle, latest: &NamedMaster) {
        if handle.master.as_ref().is_some_and(|master| master.is_replaced_by(latest)) {
            self.renew(&handle.health, Renewal::Lost(&"Sentinel named another master"));
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
        let mut last = self.last.lock();
        *last = Some(Arc::clone(&replicas));
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

    /// Makes `handle` the current one. It may have been lost before anybody could see
    /// it: `lost` is set before the state is looked at, and read after the state is set.
    fn publish(self: &Arc<Self>, handle: ConnectionHandle) {
        let health = Arc::clone(&handle.health);
        self.made.one_more();
        self.settle(ConnectionState::Up(handle));
        if health.lost.load(Ordering::SeqCst) {
            self.renew(&health, CLOSED);
        }
    }
}

/// Goes to another master as soon as any connection was led there. One that is being made is looked at when it is up.
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

/// The first attempt, which nobody needs to hear of when it succeeds.
async fn begin(weak: Weak<Connection>) {
    let Some(connection) = weak.upgrade() else { return };
    match connection.connect().await {
        Ok(handle) => connection.publish(handle),
        Err(error) => {
            connection.settle(ConnectionState::Down(error));
            drop(connection);
            keep_connecting(weak, 0, true).await;
        }
    }
}

/// Connects until it succeeds, the connection is closed, or nobody holds it any more, after a rest when connections
/// don't hold. `is_lost`: the end of the loss is logged.
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
                connection.settle(ConnectionState::Down(error));
            }
        }
        drop(connection);
        tokio::time::sleep(pause).await;
    }
}
