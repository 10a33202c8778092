//! Checks whether servers accept writes.

use std::sync::atomic::Ordering;
use std::time::Duration;

use redis::cmd;
use tokio::time::timeout;

use crate::error::{ErrorKind, StoreError};
use crate::node::{Node, Request};
use crate::script::Script;
use crate::store::Store;

/// A script, because nearly all writes are made by scripts.
static SCRIPT: Script = Script::new("write_access", &[], include_str!("write_access.lua"));

/// Whether a server accepts writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAccess {
    /// It does.
    Open,
    /// It refuses them: a replica, as after a failover; a master with too few replicas or a full disk; a Cluster that
    /// is down.
    Refused,
    /// The ACL or the login doesn't permit it, or another permission is missing ([`Store::set_acl_denied`]).
    Denied,
    /// It doesn't respond.
    Silent,
}

impl Store {
    /// Checks each server that should accept writes, by deleting a key that doesn't exist. Empty if no node of the
    /// Cluster serves a slot. `limit`: how long to wait for a reply.
    pub async fn write_access(&self, limit: Duration) -> Vec<WriteAccess> {
        let servers = self.servers_with_a_key(|number| missing_key(self.prefix(), number));
        let checks = servers.iter().map(async |(node, key)| {
            match timeout(limit, node.ask(Request::Script(&SCRIPT.on(&[key])))).await {
                Ok(Ok(_)) => {
                    node.took_write();
                    open_or_denied(node)
                }
                Ok(Err(error)) => {
                    // Another node may have replaced it.
                    self.refresh_if_outdated(&error);
                    access_of(&error)
                }
                Err(_) => WriteAccess::Silent,
            }
        });
        futures::future::join_all(checks).await
    }

    /// Sets whether the ACL of the servers of this store denies something needed, besides what [`Store::write_access`]
    /// checks.
    pub fn set_acl_denied(&self, denied: bool) {
        self.nodes().iter().for_each(|node| node.is_denied.store(denied, Ordering::Relaxed));
    }

    /// Returns a key that never exists, in a slot of the server of this store. Returns `None` if it serves only a few
    /// slots.
    pub fn nonexistent_key(&self) -> Option<String> {
        let servers = self.servers_with_a_key(|number| missing_key(self.prefix(), number));
        servers.into_iter().next().map(|(_, key)| key)
    }

    /// Returns the code with which a server refuses writes, if one does.
    ///
    /// # Errors
    /// When a server doesn't respond.
    pub(crate) async fn refusal_of_writes(&self) -> Result<Option<String>, StoreError> {
        for (node, key) in self.servers_with_a_key(|number| missing_key(self.prefix(), number)) {
            let Err(error) = node.ask(Request::Command(cmd("DEL").arg(key))).await else {
                node.took_write();
                continue;
            };
            match access_of(&error) {
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

/// A key that never exists: no bucket and no service has its hash tag.
fn missing_key(prefix: &str, number: u32) -> String {
    format!("{prefix}:{{@nothing.{number}}}")
}

/// What the error of deleting a key that doesn't exist shows. Redis refuses it like a write, and doesn't log or
/// replicate it.
fn access_of(error: &StoreError) -> WriteAccess {
    match (error.kind(), error.code()) {
        // The slot has moved: the next check uses the refreshed slot map.
        (_, Some("MOVED" | "ASK" | "TRYAGAIN")) => WriteAccess::Open,
        (_, Some("READONLY" | "NOREPLICAS" | "MISCONF" | "CLUSTERDOWN" | "MASTERDOWN")) => WriteAccess::Refused,
        (ErrorKind::Denied, _) => WriteAccess::Denied,
        _ => WriteAccess::Silent,
    }
}
