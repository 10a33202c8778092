//! The file of a chart, which is opened before the measurement, to report a path that can't be written to at once.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Failure};

/// If no chart is written, a new file is removed when dropped, and an existing one stays unchanged.
pub(super) struct ChartFile {
    path: PathBuf,
    file: File,
    is_new: bool,
}

impl ChartFile {
    /// # Errors
    /// When the file can't be opened.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let (file, is_new) = match File::create_new(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                (File::options().write(true).open(path), false)
            }
            created => (created, true),
        };
        let file = file.map_err(|error| unwritable(path, &error))?;
        Ok(Self { path: path.to_owned(), file, is_new })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the content of the file.
    ///
    /// # Errors
    /// When it can't be written.
    pub(super) fn write(&mut self, svg: &str) -> Result<(), Failure> {
        let written = self.truncate().and_then(|()| self.file.write_all(svg.as_bytes()));
        written.map_err(|error| unwritable(&self.path, &error))?;
        self.is_new = false;
        Ok(())
    }

    /// Pipes and devices can't be truncated.
    fn truncate(&self) -> io::Result<()> {
        if self.file.metadata()?.is_file() { self.file.set_len(0) } else { Ok(()) }
    }
}

impl Drop for ChartFile {
    fn drop(&mut self) {
        if self.is_new {
            // If this fails, an empty file stays.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Failure, format!("can't write {}: {error}", path.display()))
}
