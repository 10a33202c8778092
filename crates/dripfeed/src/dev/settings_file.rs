//! The settings file that `dripfeed dev` writes if it is started without one: example buckets, and the URL of its
//! Redis.
//!
//! Processors read the file whenever they start, and users pass it to other commands. So the file of a running
//! `dripfeed dev` must not be changed by another one.

use std::fs::{DirBuilder, TryLockError};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use dripfeed_store::FileLock;
use tempfile::{NamedTempFile, TempPath};

use crate::exit::Failure;

const BUCKETS: &str = include_str!("../../dev.toml");
/// The address of the upstream in `BUCKETS`.
const ECHO_IN_BUCKETS: &str = "127.0.0.1:7182";
const NAME: &str = "dev.toml";
const LOCK: &str = "dev.lock";

/// The settings in a temporary file, until Redis has started.
pub(super) struct Draft {
    folder: PathBuf,
    file: NamedTempFile,
}

/// The published file.
pub(super) struct SettingsFile {
    pub(super) path: PathBuf,
    _guard: Guard,
}

#[expect(dead_code, reason = "kept for their effects when dropped")]
enum Guard {
    /// The lock of `dev.toml`, which itself stays.
    Usual(FileLock),
    /// A file besides the `dev.toml` of another process. Removed when dropped.
    Separate(TempPath),
}

impl Draft {
    /// Writes the buckets into a temporary file in the directory `data`, which is created if needed.
    pub(super) fn write(data: &Path, echo: SocketAddr) -> Result<Self, Failure> {
        let buckets = BUCKETS.replace(ECHO_IN_BUCKETS, &echo.to_string());
        let made = DirBuilder::new().recursive(true).mode(0o700).create(data);
        let file = made.and_then(|()| tempfile::Builder::new().prefix("dev-").suffix(".toml").tempfile_in(data));
        let mut draft = Self { folder: data.to_owned(), file: file.map_err(|error| unwritable(data, &error))? };
        draft.append(&buckets)?;
        Ok(draft)
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Adds the URL of the private Redis, so that other commands find it (`dripfeed -c FILE doctor`), and renames the
    /// file to `dev.toml`, unless another `dripfeed dev` is running with that.
    pub(super) fn publish(mut self, redis: Option<&str>) -> Result<SettingsFile, Failure> {
        if let Some(url) = redis {
            let url = serde_json::Value::from(url);
            self.append(&format!("\n# Runs as long as `dripfeed dev`.\n[redis]\nurl = {url}\n"))?;
        }
        let (path, lock) = (self.folder.join(NAME), self.folder.join(LOCK));
        match FileLock::acquire(&lock) {
            Ok(lock) => {
                self.file.persist(&path).map_err(|error| unwritable(&path, &error.error))?;
                Ok(SettingsFile { path, _guard: Guard::Usual(lock) })
            }
            Err(TryLockError::WouldBlock) => {
                let path = self.file.into_temp_path();
                Ok(SettingsFile { path: path.to_path_buf(), _guard: Guard::Separate(path) })
            }
            Err(TryLockError::Error(error)) => Err(unwritable(&lock, &error)),
        }
    }

    fn append(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.file.write_all(text.as_bytes());
        written.map_err(|error| unwritable(self.file.path(), &error))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    anyhow::anyhow!("can't write {}: {error}", path.display()).into()
}
