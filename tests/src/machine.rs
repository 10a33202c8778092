//! Which tests have the machine. Whole services share it, a few at a time: most of their time they wait. Tests of time
//! run without these, or they would measure them: alone, or with each other where they load the machine little. A lock
//! on a file says so also to tests in other processes, as under nextest.

pub mod stalls;

use std::fs::File;
use std::net::Ipv4Addr;
use std::sync::{Arc, OnceLock, Weak};

use tokio::sync::{Mutex, Semaphore, SemaphorePermit};

/// Services at once in this process.
const PLACES: u32 = 8;
static FREE: Semaphore = Semaphore::const_new(PLACES as usize);
/// Quiet services at once: they call an upstream some hundred times a second.
const QUIET: u32 = 3;
static FREE_QUIET: Semaphore = Semaphore::const_new(QUIET as usize);
/// What those that run have together.
static TOGETHER: Mutex<Weak<Machine>> = Mutex::const_new(Weak::new());
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
    _together: Option<Arc<Machine>>,
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
    Machine { _file: file, _places: places, _together: None }
}

/// Nobody else but others that are quiet.
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
