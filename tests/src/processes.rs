//! `dripfeed` as real processes: started, killed, suspended, continued. None outlives its test.

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

/// For a process to listen, and to end: far more than it takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Lines of a log that are shown when a test fails.
const SHOWN: usize = 60;

/// The executable that was built with the tests.
///
/// # Panics
/// When it wasn't.
pub fn executable() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let built = test.ancestors().map(|folder| folder.join("dripfeed")).find(|path| path.is_file());
    built.expect("there is no `dripfeed` to start beside this test: run `cargo build -p dripfeed` first")
}

/// The executable with nothing of this test's environment but the path.
pub fn command<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(executable());
    command.args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// A process's memory, as the kernel reports it, in KiB: `VmRSS` now, `VmHWM` at the most so far.
pub fn memory_kib(id: u32, which: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("a running process");
    let line = status.lines().find(|line| line.starts_with(which)).expect("its memory");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

/// A role that runs until it is asked to stop.
pub struct Process {
    name: String,
    child: Child,
    /// Kept open: waiting for the child's end would close it.
    _stdin: Option<ChildStdin>,
    log: Log,
    address: watch::Receiver<Option<SocketAddr>>,
}

/// What a process says, line by line as it comes; it outlives the process. Cheap to clone.
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

    /// When lines came that have `part` in them.
    pub fn times_of(&self, part: &str) -> Vec<Instant> {
        self.lines().iter().filter(|(_, line)| line.contains(part)).map(|(at, _)| *at).collect()
    }

    /// The lines that came between two moments.
    pub fn text_between(&self, from: Instant, until: Instant) -> String {
        joined(self.lines().iter().filter(|(at, _)| (from..until).contains(at)))
    }

    /// How many lines came between two moments.
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
        let listens =
            tokio::time::timeout(PATIENCE, address.wait_for(Option::is_some)).await.is_ok_and(|told| told.is_ok());
        assert!(listens, "{name} doesn't listen; its log:\n{}", process.log.end());
        process.ready().await;
        process
    }

    /// Starts a role, and waits for nothing.
    pub fn spawn(name: &str, mut command: Command) -> Self {
        // Its standard input is a pipe from this test: it ends with it, also where nothing can be dropped any more.
        command.arg("--until-stdin-ends").stdin(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the executable can be started");
        let log = Log::default();
        let (told, address) = watch::channel(None);
        let lines = child.stderr.take().expect("a pipe for the log");
        tokio::spawn(read(lines, log.clone(), told));
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

    /// Where it listens, once it does.
    pub fn address(&self) -> watch::Receiver<Option<SocketAddr>> {
        self.address.clone()
    }

    fn listening(&self) -> SocketAddr {
        self.address.borrow().expect("it was waited for")
    }

    /// Of the running process.
    pub fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    pub fn client(&self) -> Client {
        Client::to(self.listening())
    }

    /// Where it is reached: `http://127.0.0.1:…`.
    pub fn url(&self) -> String {
        format!("http://{}", self.listening())
    }

    pub fn log(&self) -> String {
        self.log.text()
    }

    /// What it says, also after its end.
    pub fn whole_log(&self) -> Log {
        self.log.clone()
    }

    /// As a crash would end it; returns when it is gone.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("it runs");
    }

    /// Suspends it (SIGSTOP): its connections stay open, and it does nothing.
    pub fn pause(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(Signal::SIGCONT);
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Asks it to read its settings again.
    pub fn hang_up(&self) {
        self.signal(Signal::SIGHUP);
    }

    /// Its end, which is due.
    pub async fn ended(&mut self) -> ExitStatus {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        ended.unwrap_or_else(|_| panic!("{} doesn't end; its log:\n{}", self.name, self.log.end())).expect("a child")
    }

    /// Its end, however long it runs. May be dropped at any time.
    pub async fn gone(&mut self) -> ExitStatus {
        self.child.wait().await.expect("a child")
    }

    /// To our own child, which isn't reaped while it has an id.
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

/// Keeps the log, and shows where the process listens.
async fn read(stderr: ChildStderr, log: Log, told: watch::Sender<Option<SocketAddr>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some((_, address)) = line.split_once("listening on http://") {
            // In a line of JSON it ends with its quote.
            told.send_replace(address.split(['"', ' ']).next().and_then(|address| address.parse().ok()));
        }
        log.lines().push((Instant::now(), line));
    }
}
