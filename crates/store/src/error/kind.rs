//! The kind of failure: by the error code of Redis, or by the state of the connection.

use std::{error::Error, fmt, io, sync::Arc};

use redis::{ErrorKind as RedisErrorKind, RedisError};
use rustls::AlertDescription;

/// The kinds of failure that callers distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// No connection, or it was lost.
    Unreachable,
    /// No reply in time.
    Timeout,
    /// Redis is at `maxmemory` (OOM).
    Full,
    /// Redis can't serve this now: read-only, loading, busy, without replicas, cluster down.
    Refused,
    /// Not enough replicas confirmed the write in time.
    NotReplicated,
    /// The TLS certificate isn't for the host, or isn't signed by a trusted CA.
    Untrusted,
    /// Redis requires a TLS certificate of its clients, and we have none, or it refuses ours.
    CertificateRefused,
    /// Wrong password, or the ACL forbids it.
    Denied,
    /// A key has an unexpected type.
    WrongType,
    /// A script failed: a bug.
    Script,
    /// Redis rejected the command; `StoreError::code` shows why (`NOGROUP`, `ERR` …).
    Rejected,
    /// A stream has no ids left, because somebody added an entry with the largest possible id.
    NoIds,
    /// The server isn't a node of a Cluster.
    NoCluster,
    /// The reply can't be parsed.
    Protocol,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreachable => "Redis can't be reached; check redis.url and that the server is running",
            Self::Timeout => "Redis did not reply in time; check its load and the network",
            Self::Full => "Redis has no memory left; raise its maxmemory or lower the capacity",
            Self::Refused => "Redis refuses commands for now; check its state with INFO",
            Self::NotReplicated => "no replica confirmed the write in time; check the replicas with INFO replication",
            Self::Untrusted => {
                "the TLS certificate of Redis isn't trusted; add its CA as ?ca=/path/to/ca.pem to redis.url, and use a \
                    host name that the certificate contains"
            }
            Self::CertificateRefused => {
                "Redis refuses the TLS certificate of this client; set one that its tls-ca-cert-file trusts and that \
                    hasn't expired: ?cert=/path/to/cert.pem&key=/path/to/key.pem in redis.url"
            }
            Self::Denied => "Redis denied access; check the user and password in redis.url, and the ACL",
            Self::WrongType => {
                "a key has another type than dripfeed gives it; find it with `dripfeed doctor`, and rename or delete \
                    it, or use another redis.prefix"
            }
            Self::Script => "the script failed in Redis; this is a bug, please report it",
            Self::Rejected => "Redis rejected the command",
            Self::NoIds => {
                "a stream has an entry with the largest possible id, so none can be added before it is empty; \
                    `dripfeed doctor` says what to do"
            }
            Self::NoCluster => "this Redis is not a Cluster; use redis.url = redis://host:6379",
            Self::Protocol => "unexpected reply from Redis; is the server Redis 6.2 or newer?",
        })
    }
}

/// Returns the kind of an error code. Returns `None` if it depends on the operation.
pub(super) fn kind_of_code(code: &str) -> Option<ErrorKind> {
    match code {
        "OOM" => Some(ErrorKind::Full),
        "READONLY" | "NOREPLICAS" | "LOADING" | "BUSY" | "CLUSTERDOWN" | "MASTERDOWN" | "MISCONF" | "TRYAGAIN"
        | "MOVED" | "ASK" | "UNBLOCKED" => Some(ErrorKind::Refused),
        "NOAUTH" | "NOPERM" | "WRONGPASS" => Some(ErrorKind::Denied),
        "WRONGTYPE" => Some(ErrorKind::WrongType),
        _ => None,
    }
}

/// Returns whether Redis is at `maxclients`, for which it has no error code.
pub(super) fn is_at_max_clients(source: &RedisError) -> bool {
    source.to_string().contains("max number of clients")
}

/// Returns whether the server accepted the connection, and closed it before it replied.
pub(super) fn is_hung_up(source: &RedisError) -> bool {
    use io::ErrorKind as Io;
    let is_closed =
        |error: &io::Error| matches!(error.kind(), Io::BrokenPipe | Io::ConnectionReset | Io::UnexpectedEof);
    is_cut(source) || io_error(source).is_some_and(is_closed)
}

/// Returns whether the ACL denied a command in a script, for which Redis has no error code. The script may have written
/// before.
pub(super) fn is_denied_within(source: &RedisError) -> bool {
    let words = source.to_string();
    let of_versions = ["can't run this command or subcommand", "can't access at least one of the keys", "ACL failure"];
    of_versions.iter().any(|denial| words.contains(denial))
}

/// Returns whether XADD with `*` failed because the stream has the largest possible id.
pub(super) fn has_no_ids(source: &RedisError) -> bool {
    source.to_string().contains("exhausted the last possible ID")
}

pub(super) fn kind_without_code(source: &RedisError) -> ErrorKind {
    match source.kind() {
        RedisErrorKind::Io if source.is_timeout() => ErrorKind::Timeout,
        RedisErrorKind::Io => ErrorKind::Unreachable,
        RedisErrorKind::AuthenticationFailed => ErrorKind::Denied,
        RedisErrorKind::Parse if is_cut(source) => ErrorKind::Unreachable,
        _ => ErrorKind::Protocol,
    }
}

/// Returns whether we refused the certificate of the server.
pub(super) fn is_untrusted(source: &RedisError) -> bool {
    matches!(tls_error(source), Some(rustls::Error::InvalidCertificate(_)))
}

/// Returns whether the server refused our certificate, or that we have none.
pub(super) fn is_certificate_refused(source: &RedisError) -> bool {
    use AlertDescription as Alert;
    let about_ours = [
        Alert::BadCertificate,
        Alert::UnsupportedCertificate,
        Alert::CertificateRevoked,
        Alert::CertificateExpired,
        Alert::CertificateUnknown,
        Alert::UnknownCA,
        Alert::CertificateRequired,
    ];
    matches!(tls_error(source), Some(rustls::Error::AlertReceived(alert)) if about_ours.contains(alert))
}

fn tls_error(source: &RedisError) -> Option<&rustls::Error> {
    io_error(source).and_then(io::Error::get_ref).and_then(|cause| cause.downcast_ref::<rustls::Error>())
}

fn io_error(source: &RedisError) -> Option<&io::Error> {
    let shared = source.source().and_then(|cause| cause.downcast_ref::<Arc<dyn Error + Send + Sync>>());
    shared.and_then(|cause| cause.downcast_ref())
}

/// Returns whether the connection ended within a reply, which only the text of the parser's error shows.
pub(super) fn is_cut(source: &RedisError) -> bool {
    source.kind() == RedisErrorKind::Parse && source.to_string().contains("Unexpected end of input")
}
