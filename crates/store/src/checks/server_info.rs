//! Reads the version, role and settings of a server.

use std::{fmt, str::FromStr};

use futures::try_join;
use redis::cmd;

use crate::durability::Durability;
use crate::durability::append_fsync::AppendFsync;
use crate::error::{ErrorKind, StoreError};
use crate::store::Store;

/// Data from INFO, and from CONFIG if the ACL permits it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// The name and version of the product: `Redis 7.0.15`, `Valkey 8.1.1`.
    pub product: String,
    /// The version of Redis with which it is compatible.
    pub version: Version,
    /// Whether it is a master, and not a replica.
    pub is_master: bool,
    /// Whether it is a node of a Redis Cluster.
    pub is_cluster: bool,
    /// Whether `redis.url` names a Cluster (`redis+cluster://`).
    pub is_reached_as_cluster: bool,
    /// `maxmemory-policy`.
    pub eviction: String,
    /// Bytes of memory in use now.
    pub used_memory: u64,
    /// The peak since the server started, in bytes.
    pub peak_memory: u64,
    /// `maxmemory` in bytes; 0 if not set.
    pub max_memory: u64,
    /// `appendonly`.
    pub append_only: bool,
    /// Whether the last write to that file succeeded; if not, Redis refuses writes.
    pub append_only_works: bool,
    /// `appendfsync`; `None` if it doesn't matter, or the ACL denies CONFIG.
    pub append_fsync: Option<AppendFsync>,
    /// The error code with which Redis refuses writes now, except for `maxmemory`.
    pub refuses_writes: Option<String>,
    /// The number of connected replicas.
    pub replicas: usize,
    /// Whether Redis refuses writes without a connected replica (`min-replicas-to-write`).
    pub replicas_required: bool,
}

impl ServerInfo {
    /// Reads the data from a server; in a Cluster, `store` must be one of [`Store::masters`]. `durability` determines
    /// which data are needed.
    ///
    /// # Errors
    /// When the server doesn't respond, or denies INFO.
    pub async fn gather(store: &Store, durability: Durability) -> Result<Self, StoreError> {
        let info = cmd("INFO");
        // Concurrently, in one round trip.
        let (info, append_fsync, refuses_writes): (String, _, _) =
            try_join!(store.command(&info), append_fsync(store, durability), store.refusal_of_writes())?;
        let is_reached_as_cluster = store.is_cluster();
        Ok(Self { append_fsync, refuses_writes, is_reached_as_cluster, ..Self::from_info(&info) })
    }

    fn from_info(info: &str) -> Self {
        // A linear search, because only a few of the many fields are needed.
        let fields: Vec<(&str, &str)> = info.lines().filter_map(|line| line.split_once(':')).collect();
        let find = |key: &str| fields.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let text = |key: &str| find(key).unwrap_or_default();
        let number = |key: &str| text(key).parse().unwrap_or(0);
        let redis = text("redis_version");
        let product = match find("valkey_version") {
            Some(version) => format!("Valkey {version}"),
            None => format!("Redis {redis}"),
        };
        let online = |n: &usize| text(&format!("slave{n}")).contains("state=online");
        let replicas = text("connected_slaves").parse().unwrap_or(0);
        Self {
            product,
            version: redis.parse().unwrap_or_default(),
            is_master: text("role") == "master",
            // Not `redis_mode`, which has another name in Valkey.
            is_cluster: text("cluster_enabled") == "1",
            is_reached_as_cluster: false,
            eviction: text("maxmemory_policy").to_owned(),
            used_memory: number("used_memory"),
            peak_memory: number("used_memory_peak"),
            max_memory: number("maxmemory"),
            append_only: text("aof_enabled") == "1",
            append_only_works: text("aof_last_write_status") != "err",
            append_fsync: None,
            refuses_writes: None,
            replicas: (0..replicas).filter(online).count(),
            // INFO has this line only if the setting and its max-lag are above zero.
            replicas_required: find("min_slaves_good_slaves").is_some(),
        }
    }
}

/// Reads `appendfsync`, which isn't in INFO. The ACL may deny CONFIG, because it shows passwords. Each denial adds a
/// line to the ACL LOG of Redis, so only the class `fsync`, which requires the setting, tries again after the first
/// one.
async fn append_fsync(store: &Store, durability: Durability) -> Result<Option<AppendFsync>, StoreError> {
    if durability != Durability::Fsync && (durability == Durability::Process || store.is_config_denied()) {
        return Ok(None);
    }
    let mut ask = cmd("CONFIG");
    ask.arg("GET").arg("appendfsync");
    match store.command::<Vec<(String, String)>>(&ask).await {
        Ok(settings) => Ok(settings.first().and_then(|(_, value)| AppendFsync::parse(value))),
        // Managed servers often deny or remove CONFIG.
        Err(error) if matches!(error.kind(), ErrorKind::Denied | ErrorKind::Rejected) => {
            store.config_was_denied();
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A version number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl FromStr for Version {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut numbers = text.split('.');
        let mut next = || numbers.next().map_or(Ok(0), str::parse);
        Ok(Self { major: next()?, minor: next()?, patch: next()? })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_redis_is_read() {
        let facts = ServerInfo::from_info(
            "# Server\r\nredis_version:6.2.14\r\nredis_mode:standalone\r\n\
             maxmemory_policy:noeviction\r\naof_enabled:1\r\naof_last_write_status:ok\r\n\
             role:master\r\nconnected_slaves:0\r\n",
        );
        assert_eq!(facts.product, "Redis 6.2.14");
        assert_eq!(facts.version.to_string(), "6.2.14");
        assert!(facts.is_master && facts.append_only && facts.append_only_works);
        assert!(!facts.is_cluster && !facts.replicas_required);
        assert_eq!((facts.replicas, facts.eviction.as_str()), (0, "noeviction"));
    }

    #[test]
    fn valkey_is_named_and_only_replicas_that_follow_count() {
        let facts = ServerInfo::from_info(
            "redis_version:7.2.4\r\nvalkey_version:8.1.1\r\nrole:master\r\nconnected_slaves:2\r\n\
             min_slaves_good_slaves:1\r\n\
             slave0:ip=10.0.0.2,port=6379,state=online,offset=14,lag=0\r\n\
             slave1:ip=10.0.0.3,port=6379,state=wait_bgsave,offset=0,lag=0\r\n",
        );
        assert_eq!(facts.product, "Valkey 8.1.1");
        assert!(facts.version > "6.2".parse().unwrap_or_default());
        assert_eq!((facts.replicas, facts.replicas_required), (1, true));
    }
}
