//! Errors of Redis, classified once: the kind of failure, whether the write may have happened, and whether a retry can
//! help.

mod code;
mod kind;
mod operation;
pub(crate) mod pem_fault;
mod redirection;

use std::fmt;

use redis::{ErrorKind as RedisErrorKind, RedisError};

pub(crate) use self::code::code_of;
use self::code::{first_refused, refused};
pub use self::kind::ErrorKind;
use self::kind::{
    has_most_clients, has_no_ids, is_certificate_refused, is_cut, is_denied_within, is_hung_up, is_untrusted,
    kind_of_code, kind_without_code,
};
pub(crate) use self::operation::Operation;
pub(crate) use self::redirection::Redirection;
use crate::url::HostPort;

/// A call to Redis that failed. `Display` says what failed and what to do; the words of Redis are
/// its source.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{during}: {kind}")]
pub struct StoreError {
    kind: ErrorKind,
    certainty: Certainty,
    /// No connection could be made.
    is_connecting: bool,
    during: String,
    code: Option<String>,
    #[source]
    source: Option<RedisError>,
}

/// Whether the write of a failed call may be in Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// Redis surely holds nothing of it.
    NotStored,
    /// It may have happened: repeat with the same idempotency token, or say "unknown".
    Unknown,
}

impl StoreError {
    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the write may have happened.
    pub fn certainty(&self) -> Certainty {
        self.certainty
    }

    /// The code Redis answered with (`NOGROUP`, `OOM` …), when it answered.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// Whether the same call may succeed a little later with nobody changing anything.
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

    /// Whether no answer to the call came: it may have been carried out whole, and can be asked about again. Nor is it
    /// an answer that a connection is refused, such as one with a wrong password.
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

    /// What to do about a request that the node of a Cluster at `asked` refused. None: it isn't to be repeated, because
    /// something of it may have been carried out.
    pub(crate) fn redirection(&self, asked: Option<&HostPort>) -> Option<Redirection> {
        let refused = self.code().filter(|_| self.certainty == Certainty::NotStored)?;
        Redirection::of(refused, self.source.as_ref(), asked)
    }

    /// Whether the server, which answers, refuses writes for now.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.kind, ErrorKind::Refused | ErrorKind::NotReplicated)
    }

    /// Whether the first command of several was denied.
    pub(crate) fn is_first_denied(&self) -> bool {
        self.kind == ErrorKind::Denied && self.source.as_ref().and_then(first_refused) == Some(0)
    }

    /// Whether another server may answer what this one didn't, once the slots are looked at. While one is moved, that
    /// finds nothing new.
    pub(crate) fn may_be_elsewhere(&self) -> bool {
        use ErrorKind::*;
        matches!(self.kind, Unreachable | Timeout | Refused | NotReplicated)
            && !matches!(self.code(), Some("ASK" | "TRYAGAIN"))
    }

    /// The same, reported plainly where a server isn't a node of a Cluster.
    pub(crate) fn or_no_cluster(self, place: impl fmt::Display) -> Self {
        match self.code() {
            // The code of "This instance has cluster support disabled".
            Some("ERR") => Self { kind: ErrorKind::NoCluster, during: format!("connecting to {place}"), ..self },
            _ => self,
        }
    }

    /// No node serves the slot of a request, by the word of the Cluster, so nothing was sent.
    pub(crate) fn nobody_serves(during: Operation<'_>) -> Self {
        Self::held_back(during, "CLUSTERDOWN")
    }

    /// A replica that followed has left, and may be the master by now, so nothing was sent.
    pub(crate) fn replica_missing(during: Operation<'_>) -> Self {
        Self::held_back(during, "NOREPLICAS")
    }

    /// What Redis would refuse with `code`.
    fn held_back(during: Operation<'_>, code: &str) -> Self {
        Self {
            kind: ErrorKind::Refused,
            certainty: Certainty::NotStored,
            is_connecting: false,
            during: during.to_string(),
            code: Some(code.to_owned()),
            source: None,
        }
    }

    /// A connection couldn't be made, so nothing was sent.
    pub(crate) fn connecting(place: impl fmt::Display, source: RedisError) -> Self {
        let code = code_of(&source);
        let kind = match (&code, source.kind()) {
            (Some(_), _) if has_most_clients(&source) => ErrorKind::Refused,
            (Some(code), _) => kind_of_code(code).unwrap_or(ErrorKind::Rejected),
            (None, RedisErrorKind::AuthenticationFailed) => ErrorKind::Denied,
            (None, _) if is_untrusted(&source) => ErrorKind::Untrusted,
            (None, _) if is_certificate_refused(&source) => ErrorKind::CertificateRefused,
            (None, RedisErrorKind::RESP3NotSupported | RedisErrorKind::Parse) if !is_cut(&source) => {
                ErrorKind::Protocol
            }
            _ => ErrorKind::Unreachable,
        };
        // What Redis says before it closes is lost when a command is on its way.
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

    /// No connection came about within the time a call may take, so nothing was sent.
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

    /// A call on a connection failed with `source`.
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

    /// The reply to a call stayed out.
    pub(crate) fn timed_out(during: Operation<'_>) -> Self {
        Self::without_source(ErrorKind::Timeout, during)
    }

    /// The write is on the master, and on too few replicas.
    pub(crate) fn not_replicated(during: Operation<'_>) -> Self {
        Self::without_source(ErrorKind::NotReplicated, during)
    }

    fn without_source(kind: ErrorKind, during: Operation<'_>) -> Self {
        let (certainty, during) = (Certainty::Unknown, during.to_string());
        Self { kind, certainty, is_connecting: false, during, code: None, source: None }
    }
}

/// A reply reports that nothing was written; silence and a reply that can't be read don't. A script
/// isn't rolled back when it fails half-way, as it does at a key of another type. What else a script is refused, it is
/// refused before its first write.
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
