//! Which tests have the machine. Whole services share it, a few at a time: most of their time they wait. Tests of time
//! run alone, or they would measure the others. A lock on a file says so also to tests in other processes, as under
//! nextest.

pub mod stalls;

use std::fs::File;
use std::net::Ipv4Addr;
use std::sync::OnceLock;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Services at once in this process.
const PLACES: u32 = 8;
static FREE: Semaphore = Semaphore::const_new(PLACES as usize);
/// Open as long as this process runs.
static SHARED: OnceLock<File> = OnceLock::new();

/// A loopback address that only this process of tests listens on. A port that a test gives up is soon somebody else's,
/// and a process that still looks for its Redis there would join the bucket of another test run.
pub fn own_loopback() -> Ipv4Addr {
    let [_, a, b, c] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 1 + a % 254, b, 1 + c % 254)
}

/// Given up when dropped.
pub struct Machine {
    /// None: this process shares the machine, whichever of its tests runs.
    _file: Option<File>,
    _places: SemaphorePermit<'static>,
}

/// One of the places.
pub async fn place() -> Machine {
    take(1, File::lock_shared).await
}

/// Nobody else who asks for a place has one, and no process that shares the machine runs beside.
pub async fn alone() -> Machine {
    take(PLACES, File::lock).await
}

async fn take(places: u32, lock: fn(&File) -> std::io::Result<()>) -> Machine {
    let places = FREE.acquire_many(places).await.expect("it is never closed");
    let file = if SHARED.get().is_some() { None } else { Some(locked(lock).await) };
    Machine { _file: file, _places: places }
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
