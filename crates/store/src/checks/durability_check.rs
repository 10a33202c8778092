//! Determines the durability class that a server provides.

use std::fmt;

use crate::checks::server_info::ServerInfo;
use crate::durability::Durability;
use crate::durability::append_fsync::AppendFsync;

/// The durability class that responses may promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveDurability {
    /// The configured class, or a lower one if Redis provides less.
    pub class: Durability,
    /// Why it is lower, or can't be verified.
    pub shortfall: Option<Shortfall>,
}

/// How the server falls short of the configured class. `Display` is [`Shortfall::what`] and
/// [`Shortfall::what_to_do`] in one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortfall {
    /// Without an append-only file Redis loses its jobs when it stops.
    NoAppendOnly(Durability),
    /// The append-only file is flushed less often than the class requires.
    FlushedLess(Durability, AppendFsync),
    /// We lack the permission to read how often the append-only file is flushed.
    NotVisible(Durability),
    /// There is no connected replica.
    NoReplica,
    /// The master accepts writes without a connected replica.
    ReplicasNotRequired,
}

/// Returns the class that responses may promise with this server, at most `configured`.
///
/// # Errors
/// For `fsync` and `replicated`, if the server doesn't provide the class. Then a role must not start.
pub fn effective_durability(configured: Durability, info: &ServerInfo) -> Result<EffectiveDurability, Shortfall> {
    let (class, shortfall) = match (configured, shortfall(configured, info)) {
        (Durability::Fsync | Durability::Replicated, Some(shortfall)) => return Err(shortfall),
        (Durability::Everysec, Some(shortfall @ Shortfall::NotVisible(_))) => (Durability::Everysec, Some(shortfall)),
        (_, Some(shortfall)) => (Durability::Process, Some(shortfall)),
        (configured, None) => (configured, None),
    };
    Ok(EffectiveDurability { class, shortfall })
}

/// Returns the class that responses may promise now: `configured` if the server provides it, otherwise that of its
/// append-only file.
pub fn provided_durability(configured: Durability, info: &ServerInfo) -> Durability {
    match (shortfall(configured, info), info.append_fsync) {
        (None, _) => configured,
        (Some(_), _) if !info.append_only => Durability::Process,
        (Some(_), Some(AppendFsync::Always)) => Durability::Fsync,
        (Some(_), Some(AppendFsync::Everysec) | None) => Durability::Everysec,
        (Some(_), Some(AppendFsync::No)) => Durability::Process,
    }
}

fn shortfall(configured: Durability, info: &ServerInfo) -> Option<Shortfall> {
    match configured {
        Durability::Process => None,
        Durability::Replicated if info.replicas == 0 => Some(Shortfall::NoReplica),
        Durability::Replicated if !info.replicas_required => Some(Shortfall::ReplicasNotRequired),
        Durability::Replicated => None,
        Durability::Everysec | Durability::Fsync if !info.append_only => Some(Shortfall::NoAppendOnly(configured)),
        Durability::Everysec | Durability::Fsync => match info.append_fsync {
            // The default of Redis. A class below `fsync` isn't worth requiring the permission for CONFIG GET.
            None if configured == Durability::Everysec => None,
            None => Some(Shortfall::NotVisible(configured)),
            Some(AppendFsync::Always) => None,
            Some(AppendFsync::Everysec) if configured == Durability::Everysec => None,
            Some(less) => Some(Shortfall::FlushedLess(configured, less)),
        },
    }
}

impl Shortfall {
    /// Returns what is configured, and what the server provides.
    pub fn what(&self) -> String {
        match self {
            Self::NoAppendOnly(class) => {
                format!("redis.durability is {class}, but Redis has `appendonly no` and loses its data when it stops")
            }
            Self::FlushedLess(class, less) => {
                format!("redis.durability is {class}, but Redis has `appendfsync {less}`")
            }
            Self::NotVisible(class) => {
                format!(
                    "redis.durability is {class}, but the ACL of Redis denies CONFIG GET, so appendfsync can't be \
                    checked"
                )
            }
            Self::NoReplica => "redis.durability is replicated, but this Redis has no replica".to_owned(),
            Self::ReplicasNotRequired => {
                "redis.durability is replicated, but Redis accepts writes without a connected replica".to_owned()
            }
        }
    }

    /// Returns the setting of Redis to change, or the class to choose instead.
    pub fn what_to_do(&self) -> &'static str {
        match self {
            Self::NoAppendOnly(Durability::Fsync) => {
                "set `appendonly yes` and `appendfsync always` in Redis, or redis.durability to process"
            }
            Self::NoAppendOnly(_) => "set `appendonly yes` in Redis, or redis.durability to process",
            Self::FlushedLess(Durability::Fsync, _) => {
                "set `appendfsync always` in Redis, or redis.durability to a lower class"
            }
            Self::FlushedLess(..) => "set `appendfsync everysec` in Redis, or redis.durability to process",
            Self::NotVisible(_) => "grant the Redis user `+config|get`, or choose a lower class",
            Self::NoReplica => "connect a replica, or choose another redis.durability",
            Self::ReplicasNotRequired => "set `min-replicas-to-write 1` and `min-replicas-max-lag 2` in Redis",
        }
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what(), self.what_to_do())
    }
}

impl std::error::Error for Shortfall {}
