//! The directory of a private server: data, log, socket and lock.

use std::{
    ffi::OsString,
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use tempfile::TempDir;
use tokio::net::UnixStream;

use super::error::ServerError;
use super::lock::FileLock;
use crate::url::Address;

const SOCKET: &str = "redis.sock";
const LOG: &str = "redis.log";
const PID: &str = "redis.pid";
const LOCK: &str = "redis.lock";
/// The kernel's limit for the path of a socket, without the terminating zero byte.
const MAX_SOCKET_PATH: usize = 107;
const LOG_LINES: usize = 8;
const NOT_IN_A_URL: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'?').add(b'#').add(b'@');

#[derive(Debug)]
pub(super) struct Folder {
    dir: PathBuf,
    socket: PathBuf,
    /// Contains the socket if the path of `dir` is too long for one. Removed when dropped.
    short: Option<TempDir>,
}

impl Folder {
    pub(super) fn make(dir: &Path) -> Result<Self, ServerError> {
        let unusable = |source| unusable(dir, source);
        // Only for this user, because the data contain payloads.
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(unusable)?;
        let dir = dir.canonicalize().map_err(unusable)?;
        let socket = dir.join(SOCKET);
        Ok(Self {
            // If the path was too long for a socket, an earlier server left a link to its socket.
            socket: fs::read_link(&socket).unwrap_or(socket),
            dir,
            short: None,
        })
    }

    /// Locks the folder until the returned lock is dropped.
    pub(super) fn lock(&self) -> Result<FileLock, ServerError> {
        let path = self.dir.join(LOCK);
        FileLock::acquire(&path).map_err(|error| match error {
            TryLockError::WouldBlock => self.already_running(),
            TryLockError::Error(source) => unusable(&path, source),
        })
    }

    /// Connects to a server that is still running after the process that started it has ended.
    pub(super) async fn connect(&self) -> Option<UnixStream> {
        UnixStream::connect(&self.socket).await.ok()
    }

    /// Returns whether `dir` is this folder.
    pub(super) fn is_at(&self, dir: &str) -> bool {
        Path::new(dir).canonicalize().is_ok_and(|dir| dir == self.dir)
    }

    pub(super) fn path(&self) -> &Path {
        &self.dir
    }

    /// Decides where the socket of the next server is: in the folder, or, if its path would be too long, in a temporary
    /// folder, with a link in this one.
    pub(super) fn place_socket(&mut self) -> Result<(), ServerError> {
        let socket = self.dir.join(SOCKET);
        let unusable = |source| unusable(&socket, source);
        if socket.is_symlink() {
            fs::remove_file(&socket).map_err(unusable)?;
        }
        if socket.as_os_str().len() <= MAX_SOCKET_PATH {
            self.socket = socket;
            return Ok(());
        }
        let short = tempfile::Builder::new()
            .prefix("dripfeed-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir()
            .map_err(unusable)?;
        self.socket = short.path().join(SOCKET);
        symlink(&self.socket, &socket).map_err(unusable)?;
        tracing::info!(
            socket = %self.socket.display(),
            link = %socket.display(),
            "the path of the directory is too long for a socket, which is therefore elsewhere"
        );
        self.short = Some(short);
        Ok(())
    }

    pub(super) fn arguments(&self) -> [OsString; 8] {
        [
            "--dir".into(),
            self.dir.clone().into(),
            "--unixsocket".into(),
            self.socket.clone().into(),
            "--unixsocketperm".into(),
            "700".into(),
            "--pidfile".into(),
            self.dir.join(PID).into(),
        ]
    }

    /// Opens the log. The server's output goes there, too.
    pub(super) fn open_log(&self) -> Result<File, ServerError> {
        let path = self.dir.join(LOG);
        File::options().append(true).create(true).open(&path).map_err(|source| unusable(&path, source))
    }

    pub(super) fn address(&self) -> Address {
        Address::unix(&self.socket)
    }

    pub(super) fn url(&self) -> String {
        let path = self.socket.display().to_string();
        format!("unix://{}", utf8_percent_encode(&path, NOT_IN_A_URL))
    }

    pub(super) fn already_running(&self) -> ServerError {
        let pid = fs::read_to_string(self.dir.join(PID)).ok();
        ServerError::AlreadyRunning {
            dir: self.dir.clone(),
            pid: pid.map(|pid| pid.trim().to_owned()),
            url: self.url(),
        }
    }

    pub(super) fn died(&self, status: ExitStatus) -> ServerError {
        ServerError::Died { dir: self.dir.clone(), status, log: self.end_of_log() }
    }

    pub(super) fn not_ready(&self, limit: Duration) -> ServerError {
        ServerError::NotReady { dir: self.dir.clone(), limit, log: self.end_of_log() }
    }

    pub(super) fn unusable(&self, source: io::Error) -> ServerError {
        unusable(&self.dir, source)
    }

    fn end_of_log(&self) -> String {
        let log = fs::read(self.dir.join(LOG)).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }
}

fn unusable(path: &Path, source: io::Error) -> ServerError {
    ServerError::Folder { path: path.to_owned(), source }
}
