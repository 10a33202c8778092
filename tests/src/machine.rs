//! Which test has the machine. Whole services and tests of time run alone, or they would measure each other. A lock on
//! a file says so also to tests in other processes, as under nextest.

use std::fs::File;
use std::sync::OnceLock;

use tokio::sync::{Mutex, MutexGuard};

/// One at a time in this process.
static TURN: Mutex<()> = Mutex::const_new(());
/// Open as long as this process runs.
static SHARED: OnceLock<File> = OnceLock::new();

/// Given up when dropped.
pub struct Machine {
    /// None: this process shares the machine, whichever of its tests runs.
    _file: Option<File>,
    _turn: MutexGuard<'static, ()>,
}

/// Nobody else who asks for this has it, and no process that shares it runs beside.
pub async fn alone() -> Machine {
    let turn = TURN.lock().await;
    let file = if SHARED.get().is_some() { None } else { Some(locked(File::lock).await) };
    Machine { _file: file, _turn: turn }
}

/// From now on this process runs beside others that share the machine, and beside none that has it alone.
pub async fn share() {
    let file = locked(File::lock_shared).await;
    assert!(SHARED.set(file).is_ok(), "a process shares it once");
}

async fn locked(lock: fn(&File) -> std::io::Result<()>) -> File {
    // Beside the executables, so that another clone has its own.
    let path = std::env::current_exe().expect("the path of this test").with_file_name("machine.lock");
    let locked = tokio::task::spawn_blocking(move || {
        let file = File::create(path).expect("a file to lock");
        lock(&file).expect("a lock");
        file
    });
    locked.await.expect("a lock")
}
