use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::iter;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use dripfeed_store::{PrivateServer, ServerOptions};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// No line of a healthy process takes longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// More time for Redis than a busy machine stands still for.
pub(crate) const PATIENT: [&str; 4] = ["--set", "redis.connect_timeout=3s", "--set", "redis.response_timeout=3s"];

/// The executable, with nothing of the tester's environment that it reads.
pub(crate) fn dripfeed(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dripfeed"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("DRIPFEED")) {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

/// How it ended: its code, standard output and standard error.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn run(arguments: &[&str]) -> Ended {
    ended(dripfeed(arguments).output().unwrap())
}

pub(crate) fn run_with_input(arguments: &[&str], input: &str) -> Ended {
    let mut command = dripfeed(arguments);
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    ended(child.wait_with_output().unwrap())
}

pub(crate) fn ended(Output { status, stdout, stderr }: Output) -> Ended {
    assert_eq!(status.signal(), None, "killed");
    Ended { code: status.code(), out: String::from_utf8(stdout).unwrap(), err: String::from_utf8(stderr).unwrap() }
}

/// A process that runs until it is asked to end; killed when a test gives up on it.
pub(crate) struct Running {
    child: Child,
    out: Lines,
    err: Lines,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, err) = (Lines::of(child.stdout.take().unwrap()), Lines::of(child.stderr.take().unwrap()));
        Self { child, out, err }
    }

    /// A line of standard error that contains `text`; no line is given twice.
    pub(crate) fn says(&self, text: &str) -> String {
        self.err.with(text)
    }

    /// A line of standard output that contains `text`; no line is given twice.
    pub(crate) fn prints(&self, text: &str) -> String {
        self.out.with(text)
    }

    /// The address after `listening on`.
    pub(crate) fn address(&self) -> String {
        let line = self.says("listening on http");
        line[line.find("http").unwrap()..].split(['"', ' ']).next().unwrap().to_owned()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    pub(crate) fn end(self) -> Option<i32> {
        self.end_with_log().0
    }

    /// The exit code, and the lines of standard error that no [`Running::says`] returned.
    pub(crate) fn end_with_log(mut self) -> (Option<i32>, Vec<String>) {
        self.signal(Signal::SIGTERM);
        let code = self.child.wait().unwrap().code();
        (code, self.err.rest())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails when it has ended, as it should have.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a process writes, read as it comes. Two of its parts may write in any order.
struct Lines {
    written: Receiver<String>,
    unread: RefCell<Vec<String>>,
}

impl Lines {
    fn of(pipe: impl Read + Send + 'static) -> Self {
        let (write, written) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(pipe).lines().map_while(Result::ok);
            lines.take_while(|line| write.send(line.clone()).is_ok()).for_each(drop);
        });
        Self { written, unread: RefCell::default() }
    }

    fn with(&self, text: &str) -> String {
        let mut unread = self.unread.borrow_mut();
        if let Some(at) = unread.iter().position(|line| line.contains(text)) {
            return unread.remove(at);
        }
        loop {
            match self.written.recv_timeout(PATIENCE) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => unread.push(line),
                Err(error) => unreachable!("waiting for `{text}` ({error}); unread: {unread:#?}"),
            }
        }
    }

    /// All lines that [`Lines::with`] didn't return, once the process has closed the pipe.
    fn rest(&self) -> Vec<String> {
        let mut lines = self.unread.take();
        lines.extend(iter::from_fn(|| self.written.recv_timeout(PATIENCE).ok()));
        lines
    }
}

/// A Redis server for one test, in a separate folder.
pub(crate) async fn redis(arguments: &[&str]) -> (TempDir, PrivateServer) {
    let folder = TempDir::new().unwrap();
    let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    let server = PrivateServer::start(folder.path(), ServerOptions { arguments, ..ServerOptions::default() }).await;
    (folder, server.unwrap())
}

pub(crate) fn write(folder: &Path, name: &str, content: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.display().to_string()
}
