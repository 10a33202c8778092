use std::{fmt, sync::Arc, time::Duration};

use redis::{Cmd, FromRedisValue, Pipeline};

use crate::{
    connector::Connector,
    dedicated::Dedicated,
    durability::Durability,
    error::{During, StoreError},
    line::Line,
    script::Call,
    settings::RedisSettings,
    url::Address,
};

/// Redis, as all parts of the program reach it. Cheap to clone; clones share their connections.
///
/// A call fails within `response_timeout` and half a second, whatever state Redis is in, and Redis
/// is used again within a second of being back. Connections are made anew by themselves.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(self.address()).finish()
    }
}

struct Inner {
    prefix: String,
    line: Arc<Line>,
    /// For writes that are followed by WAIT, which blocks what is pipelined behind it. There for
    /// the durability class `replicated` only.
    replicated: Option<Arc<Line>>,
    /// How long WAIT waits: less than a reply may take, so that its own answer arrives.
    wait: Duration,
}

impl Store {
    /// Connects at once and sees that Redis answers.
    ///
    /// # Errors
    /// When Redis can't be reached, denies access, or is still loading its data.
    pub async fn connect(settings: &RedisSettings) -> Result<Self, StoreError> {
        let connector = Connector::new(settings);
        let open = |connector| Line::open(connector, settings.response_timeout);
        let replicated = match settings.durability {
            Durability::Replicated => Some(open(connector.clone()).await?),
            Durability::Process | Durability::Everysec | Durability::Fsync => None,
        };
        let inner = Inner {
            prefix: settings.prefix.clone(),
            line: open(connector).await?,
            replicated,
            wait: settings.response_timeout / 2,
        };
        let store = Self { inner: Arc::new(inner) };
        store.ping().await?;
        Ok(store)
    }

    /// What every key of ours begins with.
    pub fn prefix(&self) -> &str {
        &self.inner.prefix
    }

    /// Where Redis is.
    pub fn address(&self) -> &Address {
        self.inner.line.connector().address()
    }

    /// Whether there is a connection now; asks nobody.
    pub fn is_connected(&self) -> bool {
        self.inner.line.is_up()
    }

    /// Returns when there is a connection: at once, or as soon as one could be made again.
    pub async fn connected(&self) {
        self.inner.line.up().await;
    }

    /// Asks Redis whether it serves commands.
    ///
    /// # Errors
    /// When it doesn't, as for any command.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.command::<String>(&redis::cmd("PING")).await.map(drop)
    }

    /// Runs a script: by its hash, and when Redis doesn't know it (it was restarted, or another
    /// master took over), once more with its source.
    ///
    /// # Errors
    /// Named after the script.
    pub async fn run<T: FromRedisValue>(&self, call: &Call<'_>) -> Result<T, StoreError> {
        let line = &self.inner.line;
        let deadline = line.deadline();
        let during = During::Script(call.name());
        match line.command(during, call.by_hash(), deadline).await {
            Err(error) if error.code() == Some("NOSCRIPT") => line.command(during, &call.by_source(), deadline).await,
            reply => reply,
        }
    }

    /// Runs a script whose writes must be as durable as the settings say: with the class
    /// `replicated` the reply comes after a replica confirmed them.
    ///
    /// # Errors
    /// As [`Store::run`]; and `NotReplicated`, of unknown outcome, when no replica confirmed in
    /// time.
    pub async fn run_durably<T: FromRedisValue>(&self, call: &Call<'_>) -> Result<T, StoreError> {
        let Some(line) = &self.inner.replicated else {
            return self.run(call).await;
        };
        let deadline = line.deadline();
        let during = During::ScriptAndWait(call.name());
        let first = self.followed_by_wait(call.by_hash().clone());
        let (reply, confirmed): (T, u32) = match line.pipeline(during, &first, deadline).await {
            Err(error) if error.code() == Some("NOSCRIPT") => {
                let again = self.followed_by_wait(call.by_source());
                line.pipeline(during, &again, deadline).await?
            }
            replies => replies?,
        };
        if confirmed == 0 {
            return Err(StoreError::not_replicated(during));
        }
        Ok(reply)
    }

    /// Runs one command. Not for blocking reads: those have [`Store::dedicated`].
    ///
    /// # Errors
    /// Named after the command.
    pub async fn command<T: FromRedisValue>(&self, cmd: &Cmd) -> Result<T, StoreError> {
        let line = &self.inner.line;
        line.command(During::Command(cmd), cmd, line.deadline()).await
    }

    /// Runs several commands in one round trip.
    ///
    /// # Errors
    /// The first failure. The other commands may have been carried out, so the outcome is unknown.
    pub async fn pipeline<T: FromRedisValue>(&self, pipeline: &Pipeline) -> Result<T, StoreError> {
        let line = &self.inner.line;
        line.pipeline(During::Pipeline(pipeline), pipeline, line.deadline()).await
    }

    /// Makes a connection of its own, for blocking reads.
    ///
    /// # Errors
    /// When none can be made within the time for connecting; [`Store::connected`] tells when it is
    /// worth trying again.
    pub async fn dedicated(&self) -> Result<Dedicated, StoreError> {
        let connection = self.inner.line.connector().connect(|| ()).await?;
        Ok(Dedicated::new(connection))
    }

    fn followed_by_wait(&self, script: Cmd) -> Pipeline {
        let limit = u64::try_from(self.inner.wait.as_millis()).unwrap_or(u64::MAX);
        let mut pipeline = Pipeline::new();
        pipeline.add_command(script);
        pipeline.cmd("WAIT").arg(1).arg(limit.max(1));
        pipeline
    }
}
