//! The private Redis of `dripfeed dev` and of tests: a child process on a Unix socket, with its data in a separate
//! directory. It never affects a server of another directory.

mod error;
mod folder;
mod leftover;
mod lock;
mod options;

use std::{
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use backon::{ExponentialBuilder, Retryable};
use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};
use tokio::process::{Child, Command};

use self::folder::Folder;
pub use self::{error::ServerError, lock::FileLock, options::ServerOptions};
use crate::durability::Durability;
use crate::error::StoreError;
use crate::settings::RedisSettings;
use crate::store::Store;
use crate::url::Address;

/// The first program in PATH is used.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];
/// How long to wait until the server has loaded its data and responds.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long to wait until the server has saved its data and exited.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// A running private Redis. Dropping it kills the process; writes acknowledged to the append-only file aren't lost.
/// [`PrivateServer::stop`] shuts it down.
#[derive(Debug)]
pub struct PrivateServer {
    child: Child,
    folder: Folder,
    options: ServerOptions,
    _lock: FileLock,
}

impl PrivateServer {
    /// Starts a server with its data, log and socket in `dir`, which is created if needed, and returns when it
    /// responds. First shuts down a server that a killed process left running there; its data are kept.
    ///
    /// # Errors
    /// When no server is installed, another process runs one in `dir`, or it exits at once (with the last lines of its
    /// log).
    pub async fn start(dir: &Path, options: ServerOptions) -> Result<Self, ServerError> {
        let mut folder = Folder::make(dir)?;
        let lock = folder.lock()?;
        leftover::shut_down(&folder).await?;
        folder.place_socket()?;
        let child = spawn(&folder, &options)?;
        let mut server = Self { child, folder, options, _lock: lock };
        server.ready().await?;
        Ok(server)
    }

    /// Returns the `redis.url` of its socket.
    pub fn url(&self) -> String {
        self.folder.url()
    }

    /// Returns [`PrivateServer::url`], parsed.
    pub fn address(&self) -> Address {
        self.folder.address()
    }

    /// Returns its process id, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Waits until the server exits unexpectedly. Cancel safe.
    pub async fn died(&mut self) -> ServerError {
        match self.child.wait().await {
            Ok(status) => self.folder.died(status),
            Err(source) => self.folder.unusable(source),
        }
    }

    /// Shuts the server down, like SHUTDOWN: it saves its data and exits.
    ///
    /// # Errors
    /// When it failed, or had to be killed.
    pub async fn stop(mut self) -> Result<(), ServerError> {
        self.signal(Signal::SIGTERM)?;
        // A suspended process gets other signals only when it continues.
        self.signal(Signal::SIGCONT)?;
        let Ok(exited) = tokio::time::timeout(STOP_TIMEOUT, self.child.wait()).await else {
            self.kill().await?;
            return Err(ServerError::Stuck { limit: STOP_TIMEOUT });
        };
        let status: ExitStatus = exited.map_err(|source| self.folder.unusable(source))?;
        if status.success() { Ok(()) } else { Err(self.folder.died(status)) }
    }

    /// Kills the server, as a crash would (SIGKILL).
    ///
    /// # Errors
    /// When it isn't running.
    pub async fn kill(&mut self) -> Result<(), ServerError> {
        self.child.kill().await.map_err(|source| self.folder.unusable(source))
    }

    /// Starts the server again in the same folder with the same address, and returns when it responds.
    ///
    /// # Errors
    /// As [`PrivateServer::start`], and when it is still running.
    pub async fn start_again(&mut self) -> Result<(), ServerError> {
        if self.child.id().is_some() {
            return Err(self.folder.already_running());
        }
        self.child = spawn(&self.folder, &self.options)?;
        self.ready().await
    }

    /// Suspends the process (SIGSTOP): connections stay open and get no replies.
    ///
    /// # Errors
    /// When it isn't running.
    pub fn pause(&self) -> Result<(), ServerError> {
        self.signal(Signal::SIGSTOP)
    }

    /// Continues a suspended process.
    ///
    /// # Errors
    /// When it isn't running.
    pub fn resume(&self) -> Result<(), ServerError> {
        self.signal(Signal::SIGCONT)
    }

    /// Sends `signal` to the child. While the child has an id, it isn't reaped, so no other process can have this id.
    fn signal(&self, signal: Signal) -> Result<(), ServerError> {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        let pid = Pid::from_raw(id.ok_or(ServerError::NotRunning)?);
        signal::kill(pid, signal).map_err(ServerError::Signal)
    }

    async fn ready(&mut self) -> Result<(), ServerError> {
        let settings = RedisSettings::new(self.folder.address(), "", Durability::Process);
        let pauses = ExponentialBuilder::new()
            .with_min_delay(Duration::from_millis(2))
            .with_max_delay(Duration::from_millis(100))
            .without_max_times();
        let answers = (|| Store::connect(&settings)).retry(pauses).when(StoreError::is_transient);
        let answered = tokio::select! {
            error = self.died() => return Err(error),
            answered = tokio::time::timeout(READY_TIMEOUT, answers) => answered,
        };
        match answered {
            Ok(connected) => connected.map(drop).map_err(ServerError::Unusable),
            Err(_) => Err(self.folder.not_ready(READY_TIMEOUT)),
        }
    }
}

fn spawn(folder: &Folder, options: &ServerOptions) -> Result<Child, ServerError> {
    for program in PROGRAMS {
        let log = folder.open_log()?;
        let errors = log.try_clone().map_err(|source| folder.unusable(source))?;
        let child = Command::new(program)
            .args(folder.arguments())
            .args(options.arguments())
            .envs(options.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            // So Ctrl-C at the terminal doesn't signal the server: this process stops it after draining.
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        match child {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(source) => {
                return Err(ServerError::Start { program, source });
            }
            Ok(child) => return Ok(child),
        }
    }
    Err(ServerError::NotFound)
}
