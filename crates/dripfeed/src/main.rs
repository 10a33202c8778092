//! dripfeed, the one executable: arguments, settings, telemetry, signals, roles and operator commands.

mod arguments;
mod background;
mod client;
mod command;
mod dev;
mod did_you_mean;
mod exit;
mod memory;
mod open_files;
mod output;
mod permissions;
mod role;
mod service_manager;
mod settings;
mod signals;
mod start_memory;
mod telemetry;
mod top;

use std::num::NonZero;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::{io, thread};

use mimalloc::MiMalloc;
use tokio::runtime::{Builder, Runtime};

use crate::arguments::Arguments;
use crate::exit::Failure;

/// A role mostly makes small allocations in many tasks. For these mimalloc takes a third of the time of glibc's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    start_memory::begin();
    let result = Arguments::read().and_then(|arguments| run(arguments).map_err(|failure| failure.report()));
    result.map_or_else(|code| code, |()| ExitCode::SUCCESS)
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { configuration, command } = arguments;
    let runtime = runtime().map_err(anyhow::Error::from)?;
    run_to_end(runtime, command::run(command, configuration.layers(), Arguments::program))
}

/// Runs `work`, and shuts the runtime down even if `work` panics, without waiting for its threads: one that is blocked
/// on standard input must not keep the process alive.
fn run_to_end<T>(runtime: Runtime, work: impl Future<Output = T>) -> T {
    let result = panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(work)));
    runtime.shutdown_background();
    result.unwrap_or_else(|panicked| panic::resume_unwind(panicked))
}

/// Creates a runtime with a thread per core. On a single core everything runs on the main thread: a second thread would
/// cost memory, and a context switch per wake-up.
fn runtime() -> io::Result<Runtime> {
    let is_one_core = thread::available_parallelism().is_ok_and(|cores| cores == NonZero::<usize>::MIN);
    let mut builder = if is_one_core { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.enable_all().build()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_panic_ends_the_process_also_while_a_thread_waits() {
        let runtime = runtime().unwrap();
        let (end, wait) = mpsc::channel::<()>();
        let (began, begins) = mpsc::channel();
        let work = async move {
            let _waits = tokio::task::spawn_blocking(move || {
                began.send(()).unwrap();
                wait.recv()
            });
            begins.recv().unwrap();
            unreachable!("a bug");
        };
        let result = panic::catch_unwind(AssertUnwindSafe(|| run_to_end::<()>(runtime, work)));
        assert!(result.is_err());
        drop(end);
    }
}
