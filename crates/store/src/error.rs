//! Errors of Redis, classified once: the kind of failure, whether the write may have happened, and whether a retry can
//! help.

mod code;
mod kind;
mod operation;
pub(crate) mod pem_error;
mod redirection;

use std::fmt;

use redis::{ErrorKind as RedisErrorKind, RedisError};

pub(crate) use self::code::code_of;
use self::code::{first_refused, refused};
pub use self::kind::ErrorKind;
use self::kind::{
    has_no_ids, is_at_max_clients, is_certificate_refused, is_cut, is_denied_within, is_hung_up, is_untrusted,
    kind_of_code, kind_without_code,
};
pub(crate) use self::operation::Operation;
pub(crate) use self::redirection::Redirection;
use crate::url::HostPort;

/// A failed call to Redis. `Display` says what failed and what to do. Its source is the error of Redis.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{during}: {kind}")]
pub struct StoreError {
    kind: ErrorKind,
    certainty: Certainty,
    /// Whether no connection could be made.
    is_connecting: bool,
    during: String,
    code: Option<String>,
    #[source]
    source: Option<RedisError>,
}

/// Whether the write of a failed call may be in Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The write isn't in Redis.
    NotStored,
    /// The write may be in Redis: retry with the same idempotency token, or report the outcome as unknown.
    Unknown,
}

impl StoreError {
    /// Returns the kind of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns whether the write may have happened.
    pub fn certainty(&self) -> Certainty {
        self.certainty
    }

    /// Returns the error code of Redis (`NOGROUP`, `OOM` …), if it replied.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// Returns whether the same call may succeed later without any change.
    pub fn is_transient(&self) -> bool {
        match self.kind {
            ErrorKind::Unreachable
            | ErrorKind::Timeout
            | ErrorKind::Full
            | ErrorKind::Refused
            | ErrorKind::NotReplicated => true,
            ErrorKind::Untrusted
            | ErrorKind::CertificateRefused
            | ErrorKind::Denied
            | ErrorKind::WrongType
            | ErrorKind::Script
            | ErrorKind::Rejected
            | ErrorKind::NoIds
            | ErrorKind::NoCluster
            | ErrorKind::Protocol => false,
        }
    }

    /// Returns whether the call got no reply, so that it may have been executed. A refused connection, such as for a
    /// wrong password, isn't a reply to a call either.
    pub fn is_unanswered(&self) -> bool {
        self.is_connecting
            || match self.kind {
                ErrorKind::Unreachable | ErrorKind::Timeout | ErrorKind::NotReplicated | ErrorKind::Protocol => true,
                ErrorKind::Full
                | ErrorKind::Refused
                | ErrorKind::Untrusted
                | ErrorKind::CertificateRefused
                | ErrorKind::Denied
                | ErrorKind::WrongType
                | ErrorKind::Script
                | ErrorKind::Rejected
                | ErrorKind::NoIds
                | ErrorKind::NoCluster => false,
            }
    }

    /// Returns how to retry a request that the Cluster node at `asked` refused. Returns `None` if it must not be
    /// retried, because a part of it may have been executed.
    pub(crate) fn redirection(&self, asked: Option<&HostPort>) -> Option<Redirection> {
        let refused = self.code().filter(|_| self.certainty == Certainty::NotStored)?;
        Redirection::of(refused, self.source.as_ref(), asked)
    }

    /// Returns whether the server refuses writes for now.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.kind, ErrorKind::Refused | ErrorKind::NotReplicated)
    }

    /// Returns whether the first command of several was denied.
    pub(crate) fn is_first_denied(&self) -> bool {
        self.kind == ErrorKind::Denied && self.source.as_ref().and_then(first_refused) == Some(0)
    }

    /// Returns whether another node may serve the request after a refresh of the slot map. Not while the slot is being
    /// moved, as the slot map doesn't change until then.
    pub(crate) fn may_be_elsewhere(&self) -> bool {
        use ErrorKind::*;
        matches!(self.kind, Unreachable | Timeout | Refused | NotReplicated)
            && !matches!(self.code(), Some("ASK" | "TRYAGAIN"))
    }

    /// Converts the error of a server that isn't a node of a Cluster into `NoCluster`.
    pub(crate) fn or_no_cluster(self, place: impl fmt::Display) -> Self {
        match self.code() {
            // The code of "This instance has cluster support disabled".
            Some("ERR") => Self { kind: ErrorKind::NoCluster, during: format!("connecting to {place}"), ..self },
            _ => self,
        }
    }

    /// Creates the error for a slot that no node serves, according to the slot map: nothing was sent.
    pub(crate) fn nobody_serves(during: Operation<'_>) -> Self {
        Self::not_sent(during, "CLUSTERDOWN")
    }

    /// Creates the error for a missing replica that may have been promoted: nothing was sent.
    pub(crate) fn replica_missing(during: Operation<'_>) -> Self {
        Self::not_sent(during, "NOREPLICAS")
    }

    /// A request that wasn't sent, because Redis would refuse it with `code`.
    fn not_sent(during: Operation<'_>, code: &str) -> Self {
        Self {
            kind: ErrorKind::Refused,
            certainty: Certainty::NotStored,
            is_connecting: false,
            during: during.to_string(),
            code: Some(code.to_owned()),
            source: None,
        }
    }

    /// Creates the error for a connection that couldn't be made: nothing was sent.
    pub(crate) fn connecting(place: impl fmt::Display, source: RedisError) -> Self {
        let code = code_of(&source);
        let kind = match (&code, source.kind()) {
            (Some(_), _) if is_at_max_clients(&source) => ErrorKind::Refused,
            (Some(code), _) => kind_of_code(code).unwrap_or(ErrorKind::Rejected),
            (None, RedisErrorKind::AuthenticationFailed) => ErrorKind::Denied,
            (None, _) if is_untrusted(&source) => ErrorKind::Untrusted,
            (None, _) if is_certificate_refused(&source) => ErrorKind::CertificateRefused,
            (None, RedisErrorKind::RESP3NotSupported | RedisErrorKind::Parse) if !is_cut(&source) => {
                ErrorKind::Protocol
            }
            _ => ErrorKind::Unreachable,
        };
        // The error that Redis sends before it closes the connection gets lost if a command is being sent.
        let why = if is_hung_up(&source) { ", which closes new connections; is its maxclients reached?" } else { "" };
        Self {
            kind,
            certainty: Certainty::NotStored,
            is_connecting: true,
            during: format!("connecting to {place}{why}"),
            code,
            source: Some(source),
        }
    }

    /// Creates the error for a call without a connection until its deadline: nothing was sent.
    pub(crate) fn unreachable(place: impl fmt::Display) -> Self {
        Self {
            kind: ErrorKind::Unreachable,
            certainty: Certainty::NotStored,
            is_connecting: true,
            during: format!("connecting to {place}"),
            code: None,
            source: None,
        }
    }

    /// Creates the error for a call on a connection that failed with `source`.
    pub(crate) fn calling(during: Operation<'_>, source: RedisError) -> Self {
        let code = code_of(&source);
        if during.place_of_script().is_some_and(|script| first_refused(&source) > Some(script)) {
            return Self::answered(ErrorKind::NotReplicated, Certainty::Unknown, during, code, source);
        }
        if during.is_script() && code.as_deref() == Some("ERR") && is_denied_within(&source) {
            let (kind, certainty) = (ErrorKind::Denied, Certainty::Unknown);
            return Self::answered(kind, certainty, during, code, source);
        }
        let kind = match &code {
            Some(_) if has_no_ids(&source) => ErrorKind::NoIds,
            Some(code) => {
                let other = if during.is_script() { ErrorKind::Script } else { ErrorKind::Rejected };
                kind_of_code(code).unwrap_or(other)
            }
            None => kind_without_code(&source),
        };
        let certainty = match during {
            Operation::Pipeline(pipeline) if refused(&source) < pipeline.len().max(1) => Certainty::Unknown,
            _ => certainty(kind, during),
        };
        Self::answered(kind, certainty, during, code, source)
    }

    fn answered(
        kind: ErrorKind,
        certainty: Certainty,
        during: Operation<'_>,
        code: Option<String>,
        source: RedisError,
    ) -> Self {
        Self { kind, certainty, is_connecting: false, during: during.to_string(), code, source: Some(source) }
    }

    /// Creates the error for a call without a reply in time.
    pub(crate) fn timed_out(during: Operation<'_>) -> Self {
        Self::without_source(ErrorKind::Timeout, during)
    }

    /// Creates the error for a write that is on the master, but on too few replicas.
    pub(crate) fn not_replicated(during: Operation<'_>) -> Self {
        Self::without_source(ErrorKind::NotReplicated, during)
    }

    fn without_source(kind: ErrorKind, during: Operation<'_>) -> Self {
        let (certainty, during) = (Certainty::Unknown, during.to_string());
        Self { kind, certainty, is_connecting: false, during, code: None, source: None }
    }
}

/// An error reply proves that nothing was written; no reply, or one that can't be parsed, doesn't. A script isn't
/// rolled back if it fails in the middle, as it does at a key of another type. All other refusals of a script come
/// before its first write.
fn certainty(kind: ErrorKind, during: Operation<'_>) -> Certainty {
    match kind {
        ErrorKind::WrongType if during.is_script() => Certainty::Unknown,
        ErrorKind::Full | ErrorKind::Refused | ErrorKind::Denied | ErrorKind::WrongType | ErrorKind::Rejected => {
            Certainty::NotStored
        }
        _ => Certainty::Unknown,
    }
}

#[cfg(test)]
mod tests;
