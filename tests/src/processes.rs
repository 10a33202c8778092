//! `dripfeed` as real processes, which tests start, kill, suspend and resume. None outlives its test.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, Command};
use tokio::sync::watch;

use crate::client::Client;

/// Timeout for a process to listen, and to end; far more than it needs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Number of log lines that are shown when a test fails.
const SHOWN: usize = 60;

/// The executable that was built with the tests.
///
/// # Panics
/// When it wasn't built.
pub fn executable() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let built = test.ancestors().map(|folder| folder.join("dripfeed")).find(|path| path.is_file());
    built.expect("there is no `dripfeed` to start beside this test: run `cargo build -p dripfeed` first")
}

/// The executable, with only `PATH` of this test's environment.
pub fn command<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(executable());
    command.args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// A process's memory in KiB, as the kernel reports it: `VmRSS` now, `VmHWM` the peak.
pub fn memory_kib(id: u32, which: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("a running process");
    let line = status.lines().find(|line| line.starts_with(which)).expect("its memory");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

/// A running role.
pub struct Process {
    name: String,
    child: Child,
    /// Kept open, because waiting for the child would close it.
    _stdin: Option<ChildStdin>,
    log: Log,
    address: watch::Receiver<Option<SocketAddr>>,
}

/// The log of a process, which outlives it. Cheap to clone.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<(Instant, String)>>>);

impl Log {
    pub fn text(&self) -> String {
        self.text_from(0)
    }

    /// The lines that a failed test shows.
    pub fn end(&self) -> String {
        let lines = self.lines().len();
        self.text_from(lines.saturating_sub(SHOWN))
    }

    /// The times of lines that contain `part`.
    pub fn times_of(&self, part: &str) -> Vec<Instant> {
        self.lines().iter().filter(|(_, line)| line.contains(part)).map(|(at, _)| *at).collect()
    }

    /// The lines between two times.
    pub fn text_between(&self, from: Instant, until: Instant) -> String {
        joined(self.lines().iter().filter(|(at, _)| (from..until).contains(at)))
    }

    /// The number of lines between two times.
    pub fn lines_between(&self, from: Instant, until: Instant) -> usize {
        self.lines().iter().filter(|(at, _)| (from..until).contains(at)).count()
    }

    fn text_from(&self, first: usize) -> String {
        joined(&self.lines()[first..])
    }

    fn lines(&self) -> MutexGuard<'_, Vec<(Instant, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn joined<'a>(lines: impl IntoIterator<Item = &'a (Instant, String)>) -> String {
    lines.into_iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n")
}

impl Process {
    /// Starts a role, and returns when it is ready.
    pub async fn start(name: &str, command: Command) -> Self {
        let process = Self::spawn(name, command);
        let mut address = process.address.clone();
        let listens = tokio::time::timeout(PATIENCE, address.wait_for(Option::is_some))
            .await
            .is_ok_and(|listening| listening.is_ok());
        assert!(listens, "{name} doesn't listen; its log:\n{}", process.log.end());
        process.ready().await;
        process
    }

    /// Starts a role, without waiting until it is ready.
    pub fn spawn(name: &str, mut command: Command) -> Self {
        // Its standard input is a pipe from this test, so that it ends with the test even if that is killed.
        command.arg("--until-stdin-ends").stdin(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the executable can be started");
        let log = Log::default();
        let (listening, address) = watch::channel(None);
        let lines = child.stderr.take().expect("a pipe for the log");
        tokio::spawn(read(lines, log.clone(), listening));
        let stdin = child.stdin.take();
        Self { name: name.to_owned(), child, _stdin: stdin, log, address }
    }

    async fn ready(&self) {
        let (client, begun) = (self.client(), Instant::now());
        while !client.get("/readyz").await.is_ok_and(|answer| answer.status == 200) {
            assert!(begun.elapsed() < PATIENCE, "{} isn't ready; its log:\n{}", self.name, self.log.end());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Its address, once it listens.
    pub fn address(&self) -> watch::Receiver<Option<SocketAddr>> {
        self.address.clone()
    }

    fn listening(&self) -> SocketAddr {
        self.address.borrow().expect("it was waited for")
    }

    /// The id of the running process.
    pub fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    pub fn client(&self) -> Client {
        Client::to(self.listening())
    }

    /// Its URL: `http://127.0.0.1:…`.
    pub fn url(&self) -> String {
        format!("http://{}", self.listening())
    }

    pub fn log(&self) -> String {
        self.log.text()
    }

    /// Its log, which can be read after its end.
    pub fn whole_log(&self) -> Log {
        self.log.clone()
    }

    /// Kills it (SIGKILL), and waits until it has ended.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("it runs");
    }

    /// Suspends it (SIGSTOP): its connections stay open, and it does nothing.
    pub fn pause(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Resumes it (SIGCONT).
    pub fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Asks it to stop (SIGTERM).
    pub fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Asks it to reload its settings (SIGHUP).
    pub fn hang_up(&self) {
        self.signal(Signal::SIGHUP);
    }

    /// Waits for its end, which must come soon.
    pub async fn ended(&mut self) -> ExitStatus {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        ended.unwrap_or_else(|_| panic!("{} doesn't end; its log:\n{}", self.name, self.log.end())).expect("a child")
    }

    /// Waits for its end without a timeout. May be dropped at any time.
    pub async fn gone(&mut self) -> ExitStatus {
        self.child.wait().await.expect("a child")
    }

    /// Sends a signal. The child isn't reaped while it has an id.
    fn signal(&self, signal: Signal) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).expect("it runs");
        signal::kill(Pid::from_raw(id), signal).expect("a signal to our own child");
    }
}

impl Drop for Process {
    /// The process itself is killed when its handle is dropped.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the end of the log of {} ---\n{}\n", self.name, self.log.end());
        }
    }
}

/// Reads the log, and finds the address in it.
async fn read(stderr: ChildStderr, log: Log, listening: watch::Sender<Option<SocketAddr>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some((_, address)) = line.split_once("listening on http://") {
            // In a JSON line the address ends with a quote.
            listening.send_replace(address.split(['"', ' ']).next().and_then(|address| address.parse().ok()));
        }
        log.lines().push((Instant::now(), line));
    }
}
