//! Redirections of a Redis Cluster.

use redis::{RedisError, cluster::NodeAddress};

use crate::url::HostPort;

/// Where a refused request is to be made instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Redirection {
    To(HostPort),
    /// Where it was, or wherever the slots are a little later.
    Later,
}

impl Redirection {
    /// What to do about a request that a node of a Cluster refused with `code`. Nothing of it was carried out.
    pub(super) fn of(code: &str, source: Option<&RedisError>) -> Option<Self> {
        match code {
            "MOVED" => Some(source.and_then(moved_to).map_or(Self::Later, Self::To)),
            // While a slot is moved, few of our requests find all of their keys on one side.
            "ASK" | "TRYAGAIN" | "CLUSTERDOWN" | "MASTERDOWN" | "READONLY" | "LOADING" => Some(Self::Later),
            _ => None,
        }
    }
}

/// The address in `MOVED 3999 127.0.0.1:6381`.
fn moved_to(source: &RedisError) -> Option<HostPort> {
    let detail = match source.detail() {
        Some(detail) => detail.to_owned(),
        None => source.clone().into_server_errors()?.first()?.1.details()?.to_owned(),
    };
    let at: NodeAddress = detail.split_whitespace().nth(1)?.parse().ok()?;
    Some(HostPort { host: at.host().to_owned(), port: at.port() })
}
