//! A separate wall clock for a real server, which tests set as an operator or NTP would.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use dripfeed_store::Store;
use tempfile::TempDir;

use crate::service::until;

/// The compiler that Rust also uses for linking.
const COMPILER: &str = "cc";
/// Maximum difference between the time in a script and the time when it runs.
const INEXACT_MS: i128 = 100;

/// The clock of a server that is started with its environment.
pub struct WallClock {
    folder: TempDir,
    seconds: File,
}

impl WallClock {
    /// A clock that equals the machine's.
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

    /// As [`WallClock::set_ahead`], and waits until scripts use the new time. Valkey 9 reads this clock only every 100
    /// ms, and adds elapsed monotonic time in between.
    ///
    /// # Panics
    /// When the server doesn't answer.
    pub async fn set_for(&self, store: &Store, seconds: i64) {
        self.set_ahead(seconds);
        let ahead = i128::from(seconds) * 1000;
        let mut ask = redis::cmd("EVAL");
        ask.arg("return redis.call('TIME')").arg(0);
        until("scripts go by the clock", async || {
            let asked = now_ms();
            let (seconds, micros): (u64, u64) = store.command(&ask).await.expect("the time");
            let time = i128::from(seconds) * 1000 + i128::from(micros) / 1000;
            (asked - INEXACT_MS..=now_ms() + INEXACT_MS).contains(&(time - ahead))
        })
        .await;
    }
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new()
    }
}

fn now_ms() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    i128::try_from(since.as_millis()).expect("few digits")
}

fn library(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("wall_clock.so")
}

fn file(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("seconds")
}
