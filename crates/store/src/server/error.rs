use std::{io, path::PathBuf, process::ExitStatus, time::Duration};

use crate::error::StoreError;

/// Why a private server isn't running.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Neither program is in PATH.
    #[error("neither redis-server nor valkey-server is in PATH; install one: apt-get install redis-server")]
    NotFound,
    /// A server already runs in this folder.
    #[error(
        "a Redis server {}already runs on {dir}; stop it, or use it with --redis {url}",
        pid.as_ref().map(|pid| format!("(process {pid}) ")).unwrap_or_default(),
        dir = dir.display()
    )]
    AlreadyRunning {
        /// The folder of its data.
        dir: PathBuf,
        /// The content of its pid file.
        pid: Option<String>,
        /// The `redis.url` to reach it.
        url: String,
    },
    /// Something can't be created or read in the folder.
    #[error("can't use {} as data directory of a Redis server", path.display())]
    Folder {
        /// What can't be used.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program exists, but can't be run.
    #[error("can't run {program}")]
    Start {
        /// The program.
        program: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The server exited unexpectedly.
    #[error("the Redis server on {} ended ({status}); the end of its log:\n{log}", dir.display())]
    Died {
        /// The folder of its data and its log.
        dir: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its log.
        log: String,
    },
    /// The server runs, but doesn't respond.
    #[error(
        "the Redis server on {} doesn't answer after {limit:?}; the end of its log:\n{log}",
        dir.display()
    )]
    NotReady {
        /// The folder of its data and its log.
        dir: PathBuf,
        /// How long was waited.
        limit: Duration,
        /// The last lines of its log.
        log: String,
    },
    /// The server replies with an error that isn't transient.
    #[error("the Redis server was started, but can't be used")]
    Unusable(#[source] StoreError),
    /// The server isn't running.
    #[error("the Redis server isn't running")]
    NotRunning,
    /// A signal couldn't be sent.
    #[error("can't send a signal to the Redis server")]
    Signal(#[source] nix::Error),
    /// The server didn't exit in time, and was killed. Acknowledged writes aren't lost.
    #[error("the Redis server didn't stop within {limit:?} and was killed")]
    Stuck {
        /// How long was waited.
        limit: Duration,
    },
}
