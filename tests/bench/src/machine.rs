//! The machine, its cores, and the CPU time and memory of processes.

use std::fmt;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Context as _;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde::Serialize;

/// The core of Redis and the measured roles.
const MEASURED: usize = 0;
/// The core of this program, with load and upstream.
const OURS: usize = 1;
/// Whether there are enough cores; determined before this thread is pinned.
static PINNED: OnceLock<bool> = OnceLock::new();

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Conditions {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    pub(crate) pinned: bool,
    pub(crate) commit: String,
    pub(crate) date: String,
}

/// Pins this thread, the only one of this program, to its core.
pub(crate) fn pin() -> anyhow::Result<Conditions> {
    let cores = std::thread::available_parallelism()?.get();
    let pinned = *PINNED.get_or_init(|| cores > OURS);
    if pinned {
        move_to(OURS)?;
    }
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information.lines().find(|line| line.starts_with("model name")).and_then(|line| line.split_once(": "));
    let mut commit = output("git", &["rev-parse", "--short=12", "HEAD"]);
    if !output("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty() {
        commit += ", with changes";
    }
    Ok(Conditions {
        processor: model.map_or("unknown", |(_, model)| model).to_owned(),
        cores,
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
        pinned,
        commit,
        date: jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
    })
}

impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processor, cores, kernel, pinned, commit, date } = self;
        let pinned = if *pinned { "" } else { " (not pinned: figures mean little)" };
        write!(f, "{date}, commit {commit}, {cores} cores of {processor}{pinned}, Linux {kernel}")
    }
}

/// Runs `start` on the measured core, because a child process inherits the core of the thread that starts it.
pub(crate) fn on_the_measured_core<T>(start: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    if PINNED.get() != Some(&true) {
        return start();
    }
    move_to(MEASURED)?;
    let started = start();
    move_to(OURS)?;
    started
}

/// As `on_the_measured_core`, for a future.
pub(crate) async fn waiting_on_the_measured_core<T>(start: impl Future<Output = T>) -> anyhow::Result<T> {
    if PINNED.get() != Some(&true) {
        return Ok(start.await);
    }
    move_to(MEASURED)?;
    let started = start.await;
    move_to(OURS)?;
    Ok(started)
}

fn move_to(core: usize) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    set.set(core)?;
    sched_setaffinity(Pid::from_raw(0), &set).with_context(|| format!("can't move to core {core}"))
}

/// The CPU time of a process, for all its threads.
pub(crate) fn busy(id: u32) -> anyhow::Result<Duration> {
    scheduled(id, 0)
}

/// The time in which this program was ready to run but others used its core; almost none on a quiet machine.
pub(crate) fn waited() -> anyhow::Result<Duration> {
    scheduled(std::process::id(), 1)
}

/// The sum of a field of `schedstat` for all threads of a process.
fn scheduled(id: u32, field: usize) -> anyhow::Result<Duration> {
    let mut nanoseconds = 0;
    for thread in fs::read_dir(format!("/proc/{id}/task"))? {
        // In ns, unlike the 10 ms of `stat`. A thread may have ended meanwhile.
        let text = fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        nanoseconds += text.split(' ').nth(field).and_then(|time| time.parse().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanoseconds))
}

/// A process's memory in MiB: `VmRSS` now, `VmHWM` the peak.
pub(crate) fn memory(id: u32, which: &str) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(which)).context("its memory isn't shown")?;
    let kib = line.split_whitespace().next().context("its memory isn't shown")?;
    Ok(kib.parse::<f64>()? / 1024.0)
}

/// The output of a program; empty if it fails.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
