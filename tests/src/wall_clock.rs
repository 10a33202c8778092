//! The wall clock of a real server, set as an operator or NTP sets it: its own, apart from the machine's.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Compiled by what links Rust programs too.
const COMPILER: &str = "cc";

/// A clock that a server started with its environment goes by.
pub struct WallClock {
    folder: TempDir,
    seconds: File,
}

impl WallClock {
    /// As the machine's, still.
    ///
    /// # Panics
    /// Without a C compiler.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wall_clock.c");
        let mut compile = Command::new(COMPILER);
        compile.args(["-shared", "-fPIC", "-O2", "-o"]).arg(library(&folder)).arg(source);
        let compiled = compile.status().expect("a C compiler, `cc`");
        assert!(compiled.success(), "{compile:?}: {compiled}");
        fs::write(file(&folder), 0_i64.to_ne_bytes()).expect("a file for the clock");
        let seconds = File::options().write(true).open(file(&folder)).expect("the file of the clock");
        Self { folder, seconds }
    }

    /// For `ServerOptions::environment`.
    #[must_use]
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![("LD_PRELOAD", library(&self.folder).into()), ("WALL_CLOCK", file(&self.folder).into())]
    }

    /// Sets it to this many seconds ahead of the machine's, at once.
    ///
    /// # Panics
    /// When its file can't be written.
    pub fn set_ahead(&self, seconds: i64) {
        self.seconds.write_all_at(&seconds.to_ne_bytes(), 0).expect("the file of the clock");
    }
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new()
    }
}

fn library(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("wall_clock.so")
}

fn file(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("seconds")
}
