//! One Redis server: the connections to it, and how requests are made there.

use std::{sync::Arc, time::Duration};

use redis::{Cmd, FromRedisValue, Pipeline, Value, cmd, pipe};

use crate::{
    connector::Connector,
    dedicated::Dedicated,
    durability::Durability,
    error::{During, StoreError},
    followers,
    line::Line,
    mark,
    request::Request,
    script::Call,
    settings::RedisSettings,
    url::{Address, Route},
};

pub(crate) struct Node {
    line: Arc<Line>,
    /// For writes that are followed by WAIT, which blocks what is pipelined behind it. There for
    /// the durability class `replicated` only.
    replicated: Option<Arc<Line>>,
    /// How long WAIT waits: less than a reply may take, so that its own answer arrives.
    wait: Duration,
    /// What every key of ours begins with.
    prefix: String,
}

impl Node {
    /// Begins to connect; requests wait for the first attempt.
    pub(crate) fn open(settings: &RedisSettings, route: Route) -> Arc<Self> {
        let connector = Connector::new(settings, route);
        let open = |connector| Line::open(connector, settings.response_timeout);
        let replicated = match settings.durability {
            Durability::Replicated => {
                let line = open(connector.clone());
                tokio::spawn(followers::keep_looking(Arc::downgrade(&line)));
                Some(line)
            }
            Durability::Process | Durability::Everysec | Durability::Fsync => None,
        };
        Arc::new(Self {
            line: open(connector),
            replicated,
            wait: settings.response_timeout / 2,
            prefix: settings.prefix.clone(),
        })
    }

    /// How the latest attempts to connect ended; returns when they have.
    pub(crate) async fn attempted(&self) -> Result<(), StoreError> {
        self.line.attempted().await?;
        match &self.replicated {
            Some(line) => line.attempted().await,
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
            (Request::Durable(call), Some(line)) => self.run_replicated(line, call).await,
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

    async fn run_replicated<T: FromRedisValue>(&self, line: &Arc<Line>, call: &Call<'_>) -> Result<T, StoreError> {
        let (during, deadline) = (During::ScriptAndWait(call.name()), line.deadline());
        let link = line.link().await?;
        let followers = link.followers();
        if followers.is_one_missing() {
            let (role,) = line.pipeline_on(&link, during, pipe().cmd("ROLE"), deadline).await?;
            if followers.see(&role).is_none() {
                let error = StoreError::replica_missing(during);
                line.blame(&link, &error);
                return Err(error);
            }
        }
        let (asked, mark) = (followers.needed(), mark::of(&self.prefix, call));
        let first = self.followed_by_wait(call.by_hash().clone(), &mark, asked);
        let replies = match line.pipeline_on(&link, during, &first, deadline).await {
            Err(error) if error.code() == Some("NOSCRIPT") => {
                let again = self.followed_by_wait(call.by_source(), &mark, asked);
                line.pipeline_on(&link, during, &again, deadline).await
            }
            replies => replies,
        };
        let (reply, marked, role, mut confirmed): (T, bool, Value, u32) = replies?;
        if !marked {
            let mut make = Pipeline::new();
            make.add_command(mark::make(&mark)).ignore().add_command(self.wait_for(asked));
            match line.pipeline_on::<(u32,)>(&link, during, &make, deadline).await {
                Ok((waited,)) => confirmed = waited,
                // What is admitted needs memory, and was refused; what is settled wrote something, and was waited for.
                Err(error) if error.code() == Some("OOM") => {}
                Err(error) => return Err(error),
            }
        }
        let needed = followers.see(&role);
        if let Some(needed) = needed.filter(|needed| *needed > asked && confirmed < *needed) {
            // One more follows than was known when it was asked.
            let again = Pipeline::new().add_command(self.wait_for(needed)).to_owned();
            (confirmed,) = line.pipeline_on(&link, during, &again, deadline).await?;
        }
        if needed.is_none_or(|needed| confirmed < needed) {
            let error = StoreError::not_replicated(during);
            line.blame(&link, &error);
            return Err(error);
        }
        Ok(reply)
    }

    fn followed_by_wait(&self, script: Cmd, mark: &str, replicas: u32) -> Pipeline {
        let mut pipeline = Pipeline::new();
        pipeline.add_command(script).add_command(mark::touch(mark)).cmd("ROLE");
        pipeline.add_command(self.wait_for(replicas));
        pipeline
    }

    fn wait_for(&self, replicas: u32) -> Cmd {
        let limit = u64::try_from(self.wait.as_millis()).unwrap_or(u64::MAX);
        let mut wait = cmd("WAIT");
        wait.arg(replicas).arg(limit.max(1));
        wait
    }
}
