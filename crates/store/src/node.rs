//! One Redis server: the connections to it, and requests on them.

use std::sync::{Arc, atomic::AtomicBool};

use redis::{Cmd, Pipeline, Value};
use tokio::time::Instant;

use crate::connect::connector::Connector;
use crate::connection::asking::each_asking;
use crate::connection::connection_log::ConnectionLog;
use crate::connection::{Connection, ConnectionsMade};
use crate::durability::Durability;
use crate::error::{Operation, StoreError};
use crate::large_requests::LargeRequests;
use crate::replicated::Replicated;
use crate::script::Call;
use crate::settings::RedisSettings;
use crate::url::{Address, HostPort, Route};

/// A request to a server.
#[derive(Clone, Copy)]
pub(crate) enum Request<'a> {
    Script(&'a Call<'a>),
    /// A script whose writes must have the configured durability.
    Durable(&'a Call<'a>),
    Command(&'a Cmd),
    Pipeline(&'a Pipeline),
}

impl<'a> Request<'a> {
    pub(crate) fn during(self) -> Operation<'a> {
        match self {
            Self::Script(call) | Self::Durable(call) => Operation::Script(call.name()),
            Self::Command(cmd) => Operation::Command(cmd),
            Self::Pipeline(pipeline) => Operation::Pipeline(pipeline),
        }
    }

    /// Whether the request or its reply would delay small requests on the same connection.
    fn is_large(self) -> bool {
        match self {
            Self::Script(call) | Self::Durable(call) => call.has_large_reply() || bytes_of(call.by_hash()) > LARGE,
            Self::Command(cmd) => bytes_of(cmd) > LARGE,
            Self::Pipeline(pipeline) => pipeline.cmd_iter().map(bytes_of).sum::<usize>() > LARGE,
        }
    }

    /// Returns a key of the request, if known: that of a script, whose keys all share a slot.
    pub(crate) fn key(self) -> Option<&'a [u8]> {
        match self {
            Self::Script(call) | Self::Durable(call) => call.first_key(),
            Self::Command(_) | Self::Pipeline(_) => None,
        }
    }
}

/// Requests of more bytes are large.
const LARGE: usize = 128 * 1024;

fn bytes_of(cmd: &Cmd) -> usize {
    let bytes = |arg: redis::Arg<&[u8]>| match arg {
        redis::Arg::Simple(bytes) => bytes.len(),
        _ => 0,
    };
    cmd.args_iter().map(bytes).sum()
}

pub(crate) struct Node {
    connection: Arc<Connection>,
    /// For large requests, because a connection replies in order.
    large: Arc<Connection>,
    large_requests: Arc<LargeRequests>,
    /// For the durability class `replicated`.
    replicated: Option<Replicated>,
    /// Whether its ACL denies us something.
    pub(crate) is_denied: AtomicBool,
    log: Arc<ConnectionLog>,
}

impl Node {
    /// Begins to connect. Requests wait for the first attempt.
    pub(crate) fn open(settings: &RedisSettings, route: Route, made: &ConnectionsMade) -> Arc<Self> {
        let connector = Connector::new(settings, route);
        let log: Arc<ConnectionLog> = Arc::default();
        let limit = settings.response_timeout;
        let open = || Connection::open(connector.clone(), limit, Arc::default(), Arc::clone(&log), made.clone());
        let (connection, large) = (open(), open());
        let replicated = match settings.durability {
            Durability::Replicated => Some(Replicated::open(settings, &connector, &log, made)),
            Durability::Process | Durability::Everysec | Durability::Fsync => None,
        };
        let (large_requests, is_denied) = (Arc::default(), AtomicBool::new(false));
        Arc::new(Self { connection, large, large_requests, replicated, is_denied, log })
    }

    /// Waits for the end of the current attempts to connect, and returns their result.
    pub(crate) async fn attempted(&self) -> Result<(), StoreError> {
        self.connection.attempted().await?;
        self.large.attempted().await?;
        match &self.replicated {
            Some(replicated) => replicated.attempted().await,
            None => Ok(()),
        }
    }

    pub(crate) fn close(&self) {
        self.connection.close();
        self.large.close();
        if let Some(replicated) = &self.replicated {
            replicated.close();
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn large_requests(&self) -> Arc<LargeRequests> {
        Arc::clone(&self.large_requests)
    }

    pub(crate) fn address(&self) -> &Address {
        self.connection.connector().address()
    }

    /// Notes that the server accepted a write.
    pub(crate) fn took_write(&self) {
        self.log.takes_writes(self.address());
    }

    /// Returns its host and port, or `None` for a Unix socket or with Sentinel.
    pub(crate) fn at(&self) -> Option<&HostPort> {
        self.connection.connector().at()
    }

    pub(crate) async fn ask(&self, request: Request<'_>) -> Result<Value, StoreError> {
        let (connection, during) = (self.connection_for(request), request.during());
        match (request, &self.replicated) {
            (Request::Durable(call), Some(replicated)) => replicated.run(call, false).await,
            (Request::Script(call) | Request::Durable(call), _) => run(connection, during, call).await,
            (Request::Command(cmd), _) => connection.command(during, cmd, connection.deadline()).await,
            (Request::Pipeline(pipeline), _) => connection.pipeline(during, pipeline, connection.deadline()).await,
        }
    }

    /// Makes a request with ASKING, for keys whose slot is being moved to this server.
    pub(crate) async fn ask_for_moved(&self, request: Request<'_>) -> Result<Value, StoreError> {
        let (connection, during) = (self.connection_for(request), request.during());
        match (request, &self.replicated) {
            (Request::Durable(call), Some(replicated)) => replicated.run(call, true).await,
            (Request::Script(call) | Request::Durable(call), _) => run_asking(connection, during, call).await,
            (Request::Command(cmd), _) => command_asking(connection, during, cmd, connection.deadline()).await,
            (Request::Pipeline(pipeline), _) => {
                let asking = each_asking(pipeline.cmd_iter());
                connection.pipeline(during, &asking, connection.deadline()).await
            }
        }
    }

    fn connection_for(&self, request: Request<'_>) -> &Arc<Connection> {
        if request.is_large() {
            return &self.large;
        }
        self.large_requests.note_small();
        &self.connection
    }
}

/// Runs a script by its hash. If the server doesn't know it, sends its source.
async fn run(connection: &Arc<Connection>, during: Operation<'_>, call: &Call<'_>) -> Result<Value, StoreError> {
    let deadline = connection.deadline();
    match connection.command(during, call.by_hash(), deadline).await {
        Err(error) if error.code() == Some("NOSCRIPT") => connection.command(during, &call.by_source(), deadline).await,
        reply => reply,
    }
}

async fn run_asking(connection: &Arc<Connection>, during: Operation<'_>, call: &Call<'_>) -> Result<Value, StoreError> {
    let deadline = connection.deadline();
    match command_asking(connection, during, call.by_hash(), deadline).await {
        Err(error) if error.code() == Some("NOSCRIPT") => {
            command_asking(connection, during, &call.by_source(), deadline).await
        }
        reply => reply,
    }
}

async fn command_asking(
    connection: &Arc<Connection>,
    during: Operation<'_>,
    cmd: &Cmd,
    deadline: Instant,
) -> Result<Value, StoreError> {
    let (reply,) = connection.pipeline(during, &each_asking([cmd]), deadline).await?;
    Ok(reply)
}
