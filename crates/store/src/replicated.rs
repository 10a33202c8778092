//! Scripts whose writes are confirmed by all connected replicas before they return: the durability class `replicated`.

mod wait_marker;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Weak},
    time::Duration,
};

use redis::{Cmd, Pipeline, Value, cmd, pipe};

use crate::connect::connector::Connector;
use crate::connection::Connection;
use crate::connection::asking;
use crate::connection::connection_log::ConnectionLog;
use crate::connection::connections_made::ConnectionsMade;
use crate::connection::lasting_task::keep_running;
use crate::error::{Operation, StoreError};
use crate::script::Call;
use crate::settings::RedisSettings;

/// How often it is looked who follows, when no script does: one that came and left meanwhile would not be missed.
/// Shorter than a Sentinel takes to promote one that it has just heard of.
const LOOK: Duration = Duration::from_millis(250);

/// WAIT blocks what is pipelined behind it, so one bucket's scripts would wait for another's replicas. Each WAIT stands
/// right behind the writes that it waits for, on the same connection: it knows of no other connection's.
const CONNECTIONS: u32 = 8;

pub(crate) struct Replicated {
    /// Used for nothing else: replies would queue behind `WAIT`.
    connections: Vec<Arc<Connection>>,
    /// How long WAIT waits: less than a reply may take, so that its own answer arrives.
    wait: Duration,
    /// The prefix of all keys.
    prefix: String,
}

impl Replicated {
    /// Begins to connect.
    pub(crate) fn open(
        settings: &RedisSettings,
        connector: &Connector,
        log: &Arc<ConnectionLog>,
        made: &ConnectionsMade,
    ) -> Self {
        let (replicas, limit) = (Arc::default(), settings.response_timeout);
        let open = |_| Connection::open(connector.clone(), limit, Arc::clone(&replicas), Arc::clone(log), made.clone());
        let connections: Vec<_> = (0..CONNECTIONS).map(open).collect();
        // One after the other, so that the look of one spares the others theirs.
        for (connection, part) in connections.iter().zip(0..) {
            let (weak, after) = (Arc::downgrade(connection), LOOK * part / CONNECTIONS);
            tokio::spawn(keep_running("looking for replicas of Redis", move || keep_looking(weak.clone(), after)));
        }
        Self { connections, wait: settings.response_timeout / 2, prefix: settings.prefix.clone() }
    }

    /// How the latest attempt to connect ended; returns when it has.
    pub(crate) async fn attempted(&self) -> Result<(), StoreError> {
        for connection in &self.connections {
            connection.attempted().await?;
        }
        Ok(())
    }

    pub(crate) fn close(&self) {
        self.connections.iter().for_each(|connection| connection.close());
    }

    fn connection_of(&self, call: &Call<'_>) -> &Arc<Connection> {
        &self.connections[place_of(call)]
    }

    /// By its hash, and when the server doesn't know it, once more with its source; then waits for those who follow.
    /// `asking`: its keys have moved here before their slot has.
    pub(crate) async fn run(&self, call: &Call<'_>, asking: bool) -> Result<Value, StoreError> {
        let connection = self.connection_of(call);
        let operation = if asking { Operation::AskingScriptAndWait } else { Operation::ScriptAndWait };
        let (during, deadline) = (operation(call.name()), connection.deadline());
        let handle = connection.handle().await?;
        let replicas = handle.replicas();
        if replicas.is_one_missing() {
            let (role,) = connection.pipeline_on(&handle, during, pipe().cmd("ROLE"), deadline).await?;
            if replicas.see(&role).is_none() {
                let error = StoreError::replica_missing(during);
                connection.blame(&handle, &error);
                return Err(error);
            }
        }
        let (asked, mark) = (replicas.needed(), wait_marker::of(&self.prefix, call));
        let first = self.followed_by_wait(call.by_hash().clone(), &mark, asked, asking);
        let replies = match connection.pipeline_on(&handle, during, &first, deadline).await {
            Err(error) if error.code() == Some("NOSCRIPT") => {
                let again = self.followed_by_wait(call.by_source(), &mark, asked, asking);
                connection.pipeline_on(&handle, during, &again, deadline).await
            }
            replies => replies,
        };
        let (reply, marked, role, mut confirmed): (Value, bool, Value, u32) = replies?;
        if !marked {
            let mut make = Pipeline::new();
            asking::add(&mut make, wait_marker::make(&mark), asking);
            make.ignore().add_command(self.wait_for(asked));
            match connection.pipeline_on::<(u32,)>(&handle, during, &make, deadline).await {
                Ok((waited,)) => confirmed = waited,
                // What is admitted needs memory, and was refused; what is settled wrote something, and was waited for.
                Err(error) if error.code() == Some("OOM") => {}
                Err(error) => return Err(error),
            }
        }
        let needed = replicas.see(&role);
        if let Some(needed) = needed.filter(|needed| *needed > asked && confirmed < *needed) {
            // One more follows than was known when it was asked.
            let again = Pipeline::new().add_command(self.wait_for(needed)).to_owned();
            (confirmed,) = connection.pipeline_on(&handle, during, &again, deadline).await?;
        }
        if needed.is_none_or(|needed| confirmed < needed) {
            let error = StoreError::not_replicated(during);
            connection.blame(&handle, &error);
            return Err(error);
        }
        Ok(reply)
    }

    fn followed_by_wait(&self, script: Cmd, mark: &str, replicas: u32, asking: bool) -> Pipeline {
        let mut pipeline = Pipeline::new();
        asking::add(&mut pipeline, script, asking);
        asking::add(&mut pipeline, wait_marker::touch(mark), asking);
        pipeline.cmd("ROLE").add_command(self.wait_for(replicas));
        pipeline
    }

    fn wait_for(&self, replicas: u32) -> Cmd {
        let limit = u64::try_from(self.wait.as_millis()).unwrap_or(u64::MAX);
        let mut wait = cmd("WAIT");
        wait.arg(replicas).arg(limit.max(1));
        wait
    }
}

/// The same for all calls of a script for a bucket.
fn place_of(call: &Call<'_>) -> usize {
    let mut hasher = DefaultHasher::new();
    (call.first_key(), call.name()).hash(&mut hasher);
    usize::try_from(hasher.finish() % u64::from(CONNECTIONS)).unwrap_or_default()
}

/// Looks who follows whenever nobody else did for a while, from `after` on, as long as the connection lasts.
async fn keep_looking(connection: Weak<Connection>, after: Duration) {
    tokio::time::sleep(after).await;
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(connection) = connection.upgrade() else { return };
        if !connection.is_up() {
            continue;
        }
        let Ok(handle) = connection.handle().await else { continue };
        if handle.replicas().were_seen_within(LOOK) {
            continue;
        }
        let question = pipe().cmd("ROLE").to_owned();
        let looked =
            connection.pipeline_on(&handle, Operation::Pipeline(&question), &question, connection.deadline()).await;
        if let Ok((role,)) = looked {
            handle.replicas().see(&role);
        }
    }
}

#[cfg(test)]
mod tests;
