//! Whether servers take writes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use redis::cmd;
use tokio::time::timeout;

use crate::error::{ErrorKind, StoreError};
use crate::node::{Node, Request};
use crate::script::Script;
use crate::store::Store;

/// A script, as nearly all that is written is written by one.
static SCRIPT: Script = Script::new("write_access", &[], include_str!("write_access.lua"));

/// What a server makes of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAccess {
    /// It takes writes.
    Open,
    /// A replica, as after a failover; or a master with too few replicas, a full disk, or a Cluster that is down.
    Refused,
    /// The ACL, or the login, doesn't permit it, or something else that is needed ([`Store::deny`]).
    Denied,
    /// It doesn't answer.
    Silent,
}

impl Store {
    /// Whether each server that should take writes does, within `limit`. It writes nothing: what is deleted was never
    /// there. Empty: no node of the Cluster serves a slot.
    pub async fn write_access(&self, limit: Duration) -> Vec<WriteAccess> {
        let servers = self.servers_with_a_key(|number| nothing(self.prefix(), number));
        let asked = servers.iter().map(async |(node, key)| {
            match timeout(limit, node.ask(Request::Script(&SCRIPT.on(&[key])))).await {
                Ok(Ok(_)) => {
                    node.took_write();
                    open_or_denied(node)
                }
                Ok(Err(error)) => {
                    // Another node may have its place.
                    self.look_for_others(&error);
                    of(&error)
                }
                Err(_) => WriteAccess::Silent,
            }
        });
        futures::future::join_all(asked).await
    }

    /// Sets whether the ACL of the servers of this store was found to deny something that is needed, beside what
    /// [`Store::write_access`] tries.
    pub fn deny(&self, denied: bool) {
        self.nodes().iter().for_each(|node| node.is_denied.store(denied, Ordering::Relaxed));
    }

    /// A key that is never there, where the server of this store has it. None: it serves a few slots at most.
    pub fn key_of_nothing(&self) -> Option<String> {
        let servers = self.servers_with_a_key(|number| nothing(self.prefix(), number));
        servers.into_iter().next().map(|(_, key)| key)
    }

    /// The code with which a server that answers refuses a write, if one does.
    ///
    /// # Errors
    /// When it doesn't answer.
    pub(crate) async fn refusal_of_writes(&self) -> Result<Option<String>, StoreError> {
        for (node, key) in self.servers_with_a_key(|number| nothing(self.prefix(), number)) {
            let Err(error) = node.ask(Request::Command(cmd("DEL").arg(key))).await else {
                node.took_write();
                continue;
            };
            match of(&error) {
                WriteAccess::Refused => return Ok(error.code().map(str::to_owned)),
                WriteAccess::Silent => return Err(error),
                WriteAccess::Open | WriteAccess::Denied => {}
            }
        }
        Ok(None)
    }
}

fn open_or_denied(node: &Node) -> WriteAccess {
    if node.is_denied.load(Ordering::Relaxed) { WriteAccess::Denied } else { WriteAccess::Open }
}

/// A key that is never there: no bucket and no service has its hash tag.
fn nothing(prefix: &str, number: u32) -> String {
    format!("{prefix}:{{@nothing.{number}}}")
}

/// Refused where a write is; of a key that isn't there, neither logged nor replicated.
fn of(error: &StoreError) -> WriteAccess {
    match (error.kind(), error.code()) {
        // A node that says where the slot is now is asked again once that is known.
        (_, Some("MOVED" | "ASK" | "TRYAGAIN")) => WriteAccess::Open,
        (_, Some("READONLY" | "NOREPLICAS" | "MISCONF" | "CLUSTERDOWN" | "MASTERDOWN")) => WriteAccess::Refused,
        (ErrorKind::Denied, _) => WriteAccess::Denied,
        _ => WriteAccess::Silent,
    }
}
