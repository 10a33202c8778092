//! `dripfeed` as real processes: started, killed, stopped in their tracks, let go on. None outlives its test.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStderr, Command};
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

/// A role that runs until it is told to stop.
pub struct Process {
    name: String,
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    address: SocketAddr,
}

impl Process {
    /// Starts a role, and returns when it is ready.
    pub async fn start(name: &str, mut command: Command) -> Self {
        // Its standard input is a pipe from this test: it ends with it, also where nothing can be dropped any more.
        command.arg("--until-stdin-ends").stdin(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the executable can be started");
        let log = Arc::new(Mutex::new(Vec::new()));
        let (told, mut address) = watch::channel(None);
        let lines = child.stderr.take().expect("a pipe for the log");
        tokio::spawn(read(lines, Arc::clone(&log), told));
        let listening = tokio::time::timeout(PATIENCE, address.wait_for(Option::is_some)).await;
        let Ok(Ok(address)) = listening.map(|told| told.map(|address| address.expect("waited for"))) else {
            panic!("{name} doesn't listen; its log:\n{}", end_of(&log));
        };
        let process = Self { name: name.to_owned(), child, log, address };
        process.ready().await;
        process
    }

    async fn ready(&self) {
        let (client, begun) = (Client::to(self.address), Instant::now());
        while !client.get("/readyz").await.is_ok_and(|answer| answer.status == 200) {
            assert!(begun.elapsed() < PATIENCE, "{} isn't ready; its log:\n{}", self.name, end_of(&self.log));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub fn client(&self) -> Client {
        Client::to(self.address)
    }

    /// Where it is reached: `http://127.0.0.1:…`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// As a crash would end it; returns when it is gone.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("it runs");
    }

    /// Stops it in its tracks: its connections stay open, it does nothing.
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

    /// Its end.
    pub async fn ended(&mut self) -> ExitStatus {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        ended.unwrap_or_else(|_| panic!("{} doesn't end; its log:\n{}", self.name, end_of(&self.log))).expect("a child")
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
            eprintln!("--- the end of the log of {} ---\n{}\n", self.name, end_of(&self.log));
        }
    }
}

/// Keeps the log, and tells where the process listens.
async fn read(stderr: ChildStderr, log: Arc<Mutex<Vec<String>>>, told: watch::Sender<Option<SocketAddr>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some((_, address)) = line.split_once("listening on http://") {
            // In a line of JSON it ends with its quote.
            told.send_replace(address.split(['"', ' ']).next().and_then(|address| address.parse().ok()));
        }
        log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

fn end_of(log: &Mutex<Vec<String>>) -> String {
    let lines = log.lock().unwrap_or_else(PoisonError::into_inner);
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}
