//! Runs scripts that return after all connected replicas have confirmed their writes: the durability class
//! `replicated`.

mod wait_marker;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Weak},
    time::Duration,
};

use redis::{Cmd, Pipeline, Value, cmd, pipe};

use crate::connect::connector::Connector;
use crate::connection::asking;
use crate::connection::connection_log::ConnectionLog;
use crate::connection::restart_on_panic::restart_on_panic;
use crate::connection::{Connection, ConnectionsMade};
use crate::error::{Operation, StoreError};
use crate::script::Call;
use crate::settings::RedisSettings;

/// How often the replicas are read while no script does. Shorter than a Sentinel takes to promote a replica that it has
/// just discovered, so that none is promoted that we have never seen.
const READ_INTERVAL: Duration = Duration::from_millis(250);

/// Several, because WAIT blocks all later commands on its connection, so that scripts of one bucket would wait for
/// those of others. WAIT must be on the connection of the writes that it waits for, as it ignores others.
const CONNECTIONS: u32 = 8;

pub(crate) struct Replicated {
    /// Used for nothing else, because replies would queue behind WAIT.
    connections: Vec<Arc<Connection>>,
    /// The timeout of WAIT: shorter than that of a reply, so that its reply arrives in time.
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
        // At different times, so that one connection reads for all.
        for (connection, number) in connections.iter().zip(0..) {
            let (weak, delay) = (Arc::downgrade(connection), READ_INTERVAL * number / CONNECTIONS);
            let watch = move || watch_replicas(weak.clone(), delay);
            tokio::spawn(restart_on_panic("looking for replicas of Redis", watch));
        }
        Self { connections, wait: settings.response_timeout / 2, prefix: settings.prefix.clone() }
    }

    /// Waits for the end of the current attempts to connect, and returns their result.
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
        &self.connections[index_of(call)]
    }

    /// Runs a script by its hash, and by its source if the server doesn't know it, then waits for the replicas.
    /// `asking`: with ASKING, because the slot is being moved to this server.
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
                connection.replace_if_broken(&handle, &error);
                return Err(error);
            }
        }
        let (expected, marker) = (replicas.needed(), wait_marker::key(&self.prefix, call));
        let first = self.with_wait(call.by_hash().clone(), &marker, expected, asking);
        let replies = match connection.pipeline_on(&handle, during, &first, deadline).await {
            Err(error) if error.code() == Some("NOSCRIPT") => {
                let retry = self.with_wait(call.by_source(), &marker, expected, asking);
                connection.pipeline_on(&handle, during, &retry, deadline).await
            }
            replies => replies,
        };
        let (reply, is_touched, role, mut confirmed): (Value, bool, Value, u32) = replies?;
        if !is_touched {
            let mut create = Pipeline::new();
            asking::add(&mut create, wait_marker::create(&marker), asking);
            create.ignore().add_command(self.wait_for(expected));
            match connection.pipeline_on::<(u32,)>(&handle, during, &create, deadline).await {
                Ok((replicas,)) => confirmed = replicas,
                // At maxmemory the script has either been refused, or has written, so that the first WAIT was for its
                // writes.
                Err(error) if error.code() == Some("OOM") => {}
                Err(error) => return Err(error),
            }
        }
        let needed = replicas.see(&role);
        if let Some(needed) = needed.filter(|needed| *needed > expected && confirmed < *needed) {
            // ROLE showed more replicas than were known before.
            let wait = Pipeline::new().add_command(self.wait_for(needed)).to_owned();
            (confirmed,) = connection.pipeline_on(&handle, during, &wait, deadline).await?;
        }
        if needed.is_none_or(|needed| confirmed < needed) {
            let error = StoreError::not_replicated(during);
            connection.replace_if_broken(&handle, &error);
            return Err(error);
        }
        Ok(reply)
    }

    fn with_wait(&self, script: Cmd, marker: &str, replicas: u32, asking: bool) -> Pipeline {
        let mut pipeline = Pipeline::new();
        asking::add(&mut pipeline, script, asking);
        asking::add(&mut pipeline, wait_marker::touch(marker), asking);
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

/// The index of the call's connection: the same for all calls of a script for a bucket.
fn index_of(call: &Call<'_>) -> usize {
    let mut hasher = DefaultHasher::new();
    (call.first_key(), call.name()).hash(&mut hasher);
    usize::try_from(hasher.finish() % u64::from(CONNECTIONS)).unwrap_or_default()
}

/// Reads the replicas whenever nobody else has for a while, until the connection is dropped. Begins after `delay`.
async fn watch_replicas(connection: Weak<Connection>, delay: Duration) {
    tokio::time::sleep(delay).await;
    loop {
        tokio::time::sleep(READ_INTERVAL).await;
        let Some(connection) = connection.upgrade() else { return };
        if !connection.is_up() {
            continue;
        }
        let Ok(handle) = connection.handle().await else { continue };
        if handle.replicas().were_seen_within(READ_INTERVAL) {
            continue;
        }
        let command = pipe().cmd("ROLE").to_owned();
        let reply =
            connection.pipeline_on(&handle, Operation::Pipeline(&command), &command, connection.deadline()).await;
        if let Ok((role,)) = reply {
            handle.replicas().see(&role);
        }
    }
}

#[cfg(test)]
mod tests;
