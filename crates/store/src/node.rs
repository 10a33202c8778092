//! One Redis server: the connections to it, and how requests are made there.

use std::sync::Arc;

use redis::FromRedisValue;

use crate::{
    connector::Connector,
    dedicated::Dedicated,
    durability::Durability,
    error::{During, StoreError},
    line::Line,
    replicated::Replicated,
    request::Request,
    script::Call,
    settings::RedisSettings,
    url::{Address, Route},
};

pub(crate) struct Node {
    line: Arc<Line>,
    /// For the durability class `replicated`.
    replicated: Option<Replicated>,
}

impl Node {
    /// Begins to connect; requests wait for the first attempt.
    pub(crate) fn open(settings: &RedisSettings, route: Route) -> Arc<Self> {
        let connector = Connector::new(settings, route);
        let line = Line::open(connector.clone(), settings.response_timeout);
        let replicated = match settings.durability {
            Durability::Replicated => Some(Replicated::open(settings, connector)),
            Durability::Process | Durability::Everysec | Durability::Fsync => None,
        };
        Arc::new(Self { line, replicated })
    }

    /// How the latest attempts to connect ended; returns when they have.
    pub(crate) async fn attempted(&self) -> Result<(), StoreError> {
        self.line.attempted().await?;
        match &self.replicated {
            Some(replicated) => replicated.attempted().await,
            None => Ok(()),
        }
    }

    pub(crate) async fn dedicated(&self) -> Result<Dedicated, StoreError> {
        Ok(Dedicated::new(self.line.connector().connect(|| ()).await?.0))
    }

    pub(crate) fn line(&self) -> &Line {
        &self.line
    }

    pub(crate) fn address(&self) -> &Address {
        self.line.connector().address()
    }

    pub(crate) async fn ask<T: FromRedisValue>(&self, request: Request<'_>) -> Result<T, StoreError> {
        let during = request.during();
        match (request, &self.replicated) {
            (Request::Durable(call), Some(replicated)) => replicated.run(call).await,
            (Request::Script(call) | Request::Durable(call), _) => self.run(during, call).await,
            (Request::Command(cmd), _) => self.line.command(during, cmd, self.line.deadline()).await,
            (Request::Pipeline(pipeline), _) => self.line.pipeline(during, pipeline, self.line.deadline()).await,
        }
    }

    /// By its hash, and when the server doesn't know it, once more with its source.
    async fn run<T: FromRedisValue>(&self, during: During<'_>, call: &Call<'_>) -> Result<T, StoreError> {
        let deadline = self.line.deadline();
        match self.line.command(during, call.by_hash(), deadline).await {
            Err(error) if error.code() == Some("NOSCRIPT") => {
                self.line.command(during, &call.by_source(), deadline).await
            }
            reply => reply,
        }
    }
}
