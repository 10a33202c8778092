//! Who has the machine. Whole services and tests of time run alone, or they would measure each other; a file says so
//! also to tests in other processes, as under nextest.

use std::fs::File;

/// Given up when dropped.
pub struct Machine {
    /// Locked as long as it is open.
    _file: File,
}

/// One at a time, and nothing that runs under load beside it.
pub async fn alone() -> Machine {
    locked(File::lock).await
}

/// Beside others that say the same.
pub async fn shared() -> Machine {
    locked(File::lock_shared).await
}

async fn locked(lock: fn(&File) -> std::io::Result<()>) -> Machine {
    // Beside the executables, so that another clone has its own.
    let path = std::env::current_exe().expect("the path of this test").with_file_name("machine.lock");
    let locked = tokio::task::spawn_blocking(move || {
        let file = File::create(path).expect("a file to lock");
        lock(&file).expect("a lock");
        file
    });
    Machine { _file: locked.await.expect("a lock") }
}
