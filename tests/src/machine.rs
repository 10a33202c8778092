//! Limits which tests run at the same time. A few services may run together, as most of the time they wait. Tests that
//! measure time run alone, or, if they need little CPU, only with each other. A file lock applies this to tests in
//! other processes, too, as with nextest.

pub mod stalls;

use std::fs::File;
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock, Weak};

use tokio::sync::{Mutex, Semaphore, SemaphorePermit};

/// Maximum number of services in this process.
const PLACES: u32 = 8;
static FREE: Semaphore = Semaphore::const_new(PLACES as usize);
/// Maximum number of quiet services, which call an upstream some hundred times a second.
const QUIET: u32 = 3;
static FREE_QUIET: Semaphore = Semaphore::const_new(QUIET as usize);
/// The lock that running quiet services share.
static TOGETHER: Mutex<Weak<Machine>> = Mutex::const_new(Weak::new());
/// The lock file, open as long as this process runs.
static SHARED: OnceLock<File> = OnceLock::new();

/// A loopback address that only this test process listens on. Otherwise a port that a test has released could be reused
/// by another test run, and a process that still connects to its Redis there would join that run's bucket.
pub fn own_loopback() -> Ipv4Addr {
    let [_, a, b, c] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 1 + a % 254, b, 1 + c % 254)
}

/// The right to run, which is released when dropped.
pub struct Machine {
    /// `None` if this process already shares the machine.
    _file: Option<File>,
    _places: SemaphorePermit<'static>,
    _together: Option<Arc<Machine>>,
}

/// Waits for one of the places.
pub async fn place() -> Machine {
    take(1, File::lock_shared).await
}

/// Waits until no other service runs, in this process or another.
pub async fn alone() -> Machine {
    take(PLACES, File::lock).await
}

async fn take(places: u32, lock: fn(&File) -> std::io::Result<()>) -> Machine {
    let places = FREE.acquire_many(places).await.expect("it is never closed");
    let file = if SHARED.get().is_some() { None } else { Some(locked(lock).await) };
    Machine { _file: file, _places: places, _together: None }
}

/// Waits until only quiet services run.
pub async fn quiet() -> Machine {
    let places = FREE_QUIET.acquire().await.expect("it is never closed");
    let mut together = TOGETHER.lock().await;
    let machine = match together.upgrade() {
        Some(machine) => machine,
        None => Arc::new(alone().await),
    };
    *together = Arc::downgrade(&machine);
    Machine { _file: None, _places: places, _together: Some(machine) }
}

/// From now on this process runs only beside processes that share the machine.
pub async fn share() {
    let file = locked(File::lock_shared).await;
    assert!(SHARED.set(file).is_ok(), "a process shares it once");
}

async fn locked(lock: fn(&File) -> std::io::Result<()>) -> File {
    // Beside the executables, so that another clone has a separate file.
    let path = std::env::current_exe().expect("the path of this test").with_file_name("machine.lock");
    let locked = tokio::task::spawn_blocking(move || {
        let file = File::create(path).expect("a file to lock");
        lock(&file).expect("a lock");
        file
    });
    locked.await.expect("a lock")
}
