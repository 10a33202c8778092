//! Another machine. In the long run what runs there takes no core from those that are measured, and uses all that is
//! left of them.

use std::fs;
use std::panic::resume_unwind;
use std::process::Command;
use std::thread::{self, JoinHandle};

use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::attacks::is_long;

/// A thread and its runtime.
pub struct Machine {
    end: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Machine {
    /// Works until it is stopped, or is done.
    pub fn start(work: impl Future<Output = ()> + Send + 'static) -> Self {
        let (end, ended) = oneshot::channel();
        let thread = thread::spawn(move || {
            if is_long() {
                run_when_idle();
            }
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                tokio::select! {
                    () = work => {}
                    // Or its sender is dropped, as the test has failed.
                    _ = ended => {}
                }
            });
        });
        Self { end, thread }
    }

    pub fn stop(self) {
        self.end.send(()).ok();
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic));
    }
}

/// Runs this thread only while no other one is ready. The lowest priority isn't enough: beside it a thread that wakes
/// up waits until the slice of a millisecond or more is over. A thread with the idle policy is preempted at once.
fn run_when_idle() {
    let thread = fs::read_link("/proc/thread-self").expect("a thread");
    let id = thread.file_name().expect("its number");
    let done = Command::new("chrt").args(["--idle", "--pid", "0"]).arg(id).status().expect("chrt runs");
    assert!(done.success(), "chrt: {done}");
}
