//! The machine, its cores, and what processes use of it.

use std::fmt;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Context as _;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde::Serialize;

/// Of Redis and the roles that are measured.
const MEASURED: usize = 0;
/// Of the load, the upstream and this program.
const OURS: usize = 1;
/// Whether there are as many; read before this thread moves to one.
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

/// Gives this thread, which is all of this program, its core.
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

/// Runs what starts a process: a child inherits the cores of the thread that makes it.
pub(crate) fn on_the_measured_core<T>(start: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    if PINNED.get() != Some(&true) {
        return start();
    }
    move_to(MEASURED)?;
    let started = start();
    move_to(OURS)?;
    started
}

/// As `on_the_measured_core`, of what also waits.
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

/// The time that a process has had of a processor, all its threads together.
pub(crate) fn busy(id: u32) -> anyhow::Result<Duration> {
    scheduled(id, 0)
}

/// The time for which this program was ready to run and others had its core: on a quiet machine next to none.
pub(crate) fn waited() -> anyhow::Result<Duration> {
    scheduled(std::process::id(), 1)
}

/// A field of `schedstat`, of all threads of a process.
fn scheduled(id: u32, field: usize) -> anyhow::Result<Duration> {
    let mut nanoseconds = 0;
    for thread in fs::read_dir(format!("/proc/{id}/task"))? {
        // In nanoseconds, where `stat` counts in hundredths of a second. A thread may have ended meanwhile.
        let text = fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        nanoseconds += text.split(' ').nth(field).and_then(|time| time.parse().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(nanoseconds))
}

/// A process's memory in MiB: `VmRSS` now, `VmHWM` at the most so far.
pub(crate) fn memory(id: u32, which: &str) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(which)).context("its memory isn't shown")?;
    let kib = line.split_whitespace().next().context("its memory isn't shown")?;
    Ok(kib.parse::<f64>()? / 1024.0)
}

/// What a program prints; nothing, when it can't.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
