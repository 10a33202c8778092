//! The settings that `dripfeed dev` writes where it is given none: buckets to try, and where its Redis is.
//!
//! Processors read the file whenever they start, and people give it to other commands. So the one of a `dripfeed dev`
//! that runs is never changed by another.

use std::fs::{DirBuilder, TryLockError};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use dripfeed_store::FileLock;
use tempfile::{NamedTempFile, TempPath};

use crate::exit::Failure;

const BUCKETS: &str = include_str!("../../dev.toml");
/// Where those buckets have their upstream.
const ECHO_IN_BUCKETS: &str = "127.0.0.1:7182";
const NAME: &str = "dev.toml";
const LOCK: &str = "dev.lock";

/// The buckets, in a file of another name until all that may fail before has succeeded.
pub(super) struct Draft {
    folder: PathBuf,
    file: NamedTempFile,
}

/// In its place, as long as this is kept.
pub(super) struct SettingsFile {
    pub(super) path: PathBuf,
    _place: Place,
}

#[expect(dead_code, reason = "kept for what their ends do")]
enum Place {
    /// `dev.toml`, which stays.
    Usual(FileLock),
    /// Beside that of another, until this process ends.
    Separate(TempPath),
}

impl Draft {
    /// In the directory `data`, which is created if needed.
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

    /// With where the private Redis is: other commands find it by this file, as `dripfeed -c FILE doctor` does. The
    /// file becomes `dev.toml`, unless another `dripfeed dev` runs with that.
    pub(super) fn publish(mut self, redis: Option<&str>) -> Result<SettingsFile, Failure> {
        if let Some(url) = redis {
            let url = serde_json::Value::from(url);
            self.append(&format!("\n# Runs as long as `dripfeed dev`.\n[redis]\nurl = {url}\n"))?;
        }
        let (path, lock) = (self.folder.join(NAME), self.folder.join(LOCK));
        match FileLock::take(&lock) {
            Ok(lock) => {
                self.file.persist(&path).map_err(|error| unwritable(&path, &error.error))?;
                Ok(SettingsFile { path, _place: Place::Usual(lock) })
            }
            Err(TryLockError::WouldBlock) => {
                let path = self.file.into_temp_path();
                Ok(SettingsFile { path: path.to_path_buf(), _place: Place::Separate(path) })
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
