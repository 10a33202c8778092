//! Scripts whose writes are confirmed by all that follow, before their reply counts: the durability class `replicated`.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use redis::{Cmd, FromRedisValue, Pipeline, Value, cmd, pipe};

use crate::{
    connector::Connector,
    error::{During, StoreError},
    line::Line,
    mark,
    script::Call,
    settings::RedisSettings,
};

/// How often it is looked who follows, when no script does: one that came and left meanwhile would not be missed. Shorter
/// than a Sentinel takes to promote one that it has just heard of.
const LOOK: Duration = Duration::from_millis(250);

pub(crate) struct Replicated {
    /// Of its own: WAIT blocks what is pipelined behind it.
    line: Arc<Line>,
    /// How long WAIT waits: less than a reply may take, so that its own answer arrives.
    wait: Duration,
    /// What every key of ours begins with.
    prefix: String,
}

impl Replicated {
    /// Begins to connect.
    pub(crate) fn open(settings: &RedisSettings, connector: Connector) -> Self {
        let line = Line::open(connector, settings.response_timeout);
        tokio::spawn(keep_looking(Arc::downgrade(&line)));
        Self { line, wait: settings.response_timeout / 2, prefix: settings.prefix.clone() }
    }

    /// How the latest attempt to connect ended; returns when it has.
    pub(crate) async fn attempted(&self) -> Result<(), StoreError> {
        self.line.attempted().await
    }

    /// By its hash, and when the server doesn't know it, once more with its source; then waits for those who follow.
    pub(crate) async fn run<T: FromRedisValue>(&self, call: &Call<'_>) -> Result<T, StoreError> {
        let line = &self.line;
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

/// Looks who follows whenever nobody else did for a while, as long as the line is held.
async fn keep_looking(line: Weak<Line>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(line) = line.upgrade() else { return };
        if !line.is_up() {
            continue;
        }
        let Ok(link) = line.link().await else { continue };
        if link.followers().were_seen_within(LOOK) {
            continue;
        }
        let question = pipe().cmd("ROLE").to_owned();
        let looked = line.pipeline_on(&link, During::Pipeline(&question), &question, line.deadline()).await;
        if let Ok((role,)) = looked {
            link.followers().see(&role);
        }
    }
}
