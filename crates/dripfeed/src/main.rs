//! dripfeed, the one executable: arguments, settings, telemetry, signals, roles and operator commands.

mod arguments;
mod background;
mod client;
mod command;
mod dev;
mod exit;
mod memory;
mod nearest;
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

/// Small allocations of many tasks are most of what a role does besides its calls: this one takes a third of the time
/// that glibc's takes for them.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    start_memory::begin();
    let ended = Arguments::read().and_then(|arguments| run(arguments).map_err(|failure| failure.report()));
    ended.map_or_else(|code| code, |()| ExitCode::SUCCESS)
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { configuration, command } = arguments;
    let runtime = runtime().map_err(anyhow::Error::from)?;
    ended_by(runtime, command::run(command, configuration.layers(), Arguments::program))
}

/// Ends the runtime with `work`, also where that panics: a thread that still waits for standard input must not keep the
/// process.
fn ended_by<T>(runtime: Runtime, work: impl Future<Output = T>) -> T {
    let ended = panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(work)));
    runtime.shutdown_background();
    ended.unwrap_or_else(|panicked| panic::resume_unwind(panicked))
}

/// Of as many threads as there are cores. On one core this thread does all: another one would cost memory, and time at
/// each change between them.
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
        let ended = panic::catch_unwind(AssertUnwindSafe(|| ended_by::<()>(runtime, work)));
        assert!(ended.is_err());
        drop(end);
    }
}
