//! The file of a chart. It is opened before the work that the chart shows: a path that can't be written is reported
//! before anything is measured.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Failure};

/// A new file that gets no chart is removed again; an older one keeps what is in it.
pub(super) struct ChartFile {
    path: PathBuf,
    file: File,
    is_new: bool,
}

impl ChartFile {
    /// # Errors
    /// When it can't be written to.
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

    /// Replaces what is in it.
    ///
    /// # Errors
    /// When it can't be written.
    pub(super) fn write(&mut self, svg: &str) -> Result<(), Failure> {
        let written = self.empty().and_then(|()| self.file.write_all(svg.as_bytes()));
        written.map_err(|error| unwritable(&self.path, &error))?;
        self.is_new = false;
        Ok(())
    }

    /// A pipe or a device has nothing to be removed.
    fn empty(&self) -> io::Result<()> {
        if self.file.metadata()?.is_file() { self.file.set_len(0) } else { Ok(()) }
    }
}

impl Drop for ChartFile {
    fn drop(&mut self) {
        if self.is_new {
            // Where this fails, an empty file is left.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Exit::Failure, format!("can't write {}: {error}", path.display()))
}
