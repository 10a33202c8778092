//! One Redis server: the connections to it, and how requests are made there.

use std::sync::Arc;

use redis::{Cmd, FromRedisValue, Pipeline};

use crate::connect::connector::Connector;
use crate::connection::Connection;
use crate::connection::dedicated::Dedicated;
use crate::durability::Durability;
use crate::error::{Operation, StoreError};
use crate::replicated::Replicated;
use crate::script::Call;
use crate::settings::RedisSettings;
use crate::url::{Address, Route};

/// What is asked of a server.
#[derive(Clone, Copy)]
pub(crate) enum Request<'a> {
    Script(&'a Call<'a>),
    /// A script whose writes must be as durable as the settings say.
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

    /// A key that it works on, where it is known by its place: of a script, whose keys all share a slot.
    pub(crate) fn key(self) -> Option<&'a [u8]> {
        match self {
            Self::Script(call) | Self::Durable(call) => call.first_key(),
            Self::Command(_) | Self::Pipeline(_) => None,
        }
    }
}

pub(crate) struct Node {
    connection: Arc<Connection>,
    /// For the durability class `replicated`.
    replicated: Option<Replicated>,
}

impl Node {
    /// Begins to connect; requests wait for the first attempt.
    pub(crate) fn open(settings: &RedisSettings, route: Route) -> Arc<Self> {
        let connector = Connector::new(settings, route);
        let connection = Connection::open(connector.clone(), settings.response_timeout, Arc::default());
        let replicated = match settings.durability {
            Durability::Replicated => Some(Replicated::open(settings, &connector)),
            Durability::Process | Durability::Everysec | Durability::Fsync => None,
        };
        Arc::new(Self { connection, replicated })
    }

    /// How the latest attempts to connect ended; returns when they have.
    pub(crate) async fn attempted(&self) -> Result<(), StoreError> {
        self.connection.attempted().await?;
        match &self.replicated {
            Some(replicated) => replicated.attempted().await,
            None => Ok(()),
        }
    }

    pub(crate) async fn dedicated(&self) -> Result<Dedicated, StoreError> {
        Ok(Dedicated::new(self.connection.connector().connect(|| ()).await?.0))
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn address(&self) -> &Address {
        self.connection.connector().address()
    }

    pub(crate) async fn ask<T: FromRedisValue>(&self, request: Request<'_>) -> Result<T, StoreError> {
        let during = request.during();
        match (request, &self.replicated) {
            (Request::Durable(call), Some(replicated)) => replicated.run(call).await,
            (Request::Script(call) | Request::Durable(call), _) => self.run(during, call).await,
            (Request::Command(cmd), _) => self.connection.command(during, cmd, self.connection.deadline()).await,
            (Request::Pipeline(pipeline), _) => {
                self.connection.pipeline(during, pipeline, self.connection.deadline()).await
            }
        }
    }

    /// By its hash, and when the server doesn't know it, once more with its source.
    async fn run<T: FromRedisValue>(&self, during: Operation<'_>, call: &Call<'_>) -> Result<T, StoreError> {
        let deadline = self.connection.deadline();
        match self.connection.command(during, call.by_hash(), deadline).await {
            Err(error) if error.code() == Some("NOSCRIPT") => {
                self.connection.command(during, &call.by_source(), deadline).await
            }
            reply => reply,
        }
    }
}
