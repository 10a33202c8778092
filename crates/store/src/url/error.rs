/// An invalid `redis.url`. Shows no part of it that may contain the password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// No `scheme://`.
    #[error("redis.url has no scheme; write it like redis://127.0.0.1:6379")]
    NoScheme,
    /// An unknown scheme.
    #[error(
        "redis.url has the unknown scheme `{0}`; use redis://host:6379, rediss://host:6379, \
         unix:///path/redis.sock, redis+sentinel://host1:26379,host2:26379/name or \
         redis+cluster://host1:6379,host2:6379"
    )]
    UnknownScheme(String),
    /// A database other than 0 in a Cluster.
    #[error("redis.url has a database number, but a Redis Cluster has only database 0; remove it")]
    ClusterDatabase,
    /// An empty host name.
    #[error("redis.url has no host; write it like redis://127.0.0.1:6379")]
    NoHost,
    /// Several hosts, except for Sentinel and Cluster.
    #[error(
        "redis.url has several hosts, which is only for Sentinel, redis+sentinel://host1,host2/name, and Cluster, \
            redis+cluster://host1,host2"
    )]
    SeveralHosts,
    /// A port out of range, or a password that isn't percent-encoded.
    #[error(
        "redis.url has a port that isn't a number from 1 to 65535; write it like \
         redis://127.0.0.1:6379, and `/ : @ ? #` in a password percent-encoded (`/` is %2F)"
    )]
    BadPort,
    /// A database that isn't a number.
    #[error(
        "redis.url has a database that isn't a number from 0 up; write it like \
         redis://127.0.0.1:6379/0, and `/ : @ ? #` in a password percent-encoded (`/` is %2F)"
    )]
    BadDatabase,
    /// No path to the socket.
    #[error("redis.url has no absolute path of a socket; write it like unix:///run/redis/redis.sock")]
    NoSocketPath,
    /// Sentinel without the name of a master.
    #[error(
        "redis.url has no master's name for Sentinel; write it like \
         redis+sentinel://host1:26379,host2:26379/mymaster"
    )]
    NoMasterName,
    /// An unknown parameter after `?`.
    #[error(
        "redis.url has an unknown parameter after `?`; unix:///path has ?db=0&user=name&pass=word, \
         rediss://host:6379 has ?ca=/path/to/ca.pem&cert=/path/to/cert.pem&key=/path/to/key.pem, \
         redis+sentinel://host/name has ?sentinel_user=name&sentinel_pass=word"
    )]
    UnknownParameter,
    /// One of `cert` and `key` without the other.
    #[error("redis.url has only one of ?cert= and &key=; a client certificate needs both")]
    HalfACertificate,
    /// `#insecure` and the like.
    #[error(
        "redis.url has a fragment after `#`, which isn't supported: TLS is always verified \
            (rediss://host:6379?ca=/path/to/ca.pem for a private CA), and a `#` in a password is written as %23"
    )]
    Fragment,
    /// Percent-encoding that isn't UTF-8.
    #[error("redis.url has a percent-encoding that isn't UTF-8")]
    NotText,
}
