//! dripfeed, the one executable: arguments, settings, telemetry, signals, roles and operator commands.

mod arguments;
mod background;
mod client;
mod command;
mod dev;
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
    let ended = runtime.block_on(command::run(command, configuration.layers(), Arguments::program));
    // A thread that still waits for standard input must not keep the process.
    runtime.shutdown_background();
    ended
}

/// Of as many threads as there are cores. On one core this thread does all: another one would cost memory, and time at
/// each change between them.
fn runtime() -> io::Result<Runtime> {
    let is_one_core = thread::available_parallelism().is_ok_and(|cores| cores == NonZero::<usize>::MIN);
    let mut builder = if is_one_core { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.enable_all().build()
}
