//! A role as a process on the measured core, which ends with this program.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, Command};
use tokio::sync::watch;

use crate::{client, machine};

/// Timeout for a role to start, and to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// Interval between two checks whether it is ready.
const GLANCE: Duration = Duration::from_millis(1);

/// How a role shows that it is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// It prints a line.
    Printed,
    /// It prints its address, and answers `/readyz`.
    Asked,
    /// It answers `/readyz` at this address, and prints nothing.
    At(SocketAddr),
}

pub(crate) struct Role {
    child: Child,
    /// Open as long as this program runs, for `--until-stdin-ends`.
    _stdin: Option<ChildStdin>,
    address: Option<SocketAddr>,
    pub(crate) ready_in: Duration,
}

impl Role {
    pub(crate) async fn start(mut command: Command, ready: Ready) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        // Ctrl-C must only reach this program, which then ends its roles.
        command.process_group(0);
        let begun = Instant::now();
        let mut child = machine::on_the_measured_core(|| command.spawn().context("it can't be started"))
            .with_context(|| format!("{:?}", command.as_std()))?;
        let stdin = child.stdin.take();
        let (found, mut line) = watch::channel(None);
        tokio::spawn(read(child.stderr.take().context("a pipe for its log")?, found));
        let address = match ready {
            Ready::At(address) => Some(address),
            Ready::Printed | Ready::Asked => {
                let printed = tokio::time::timeout(PATIENCE, line.wait_for(Option::is_some)).await;
                let printed = printed.context("it doesn't start")?.context("it ended")?.clone().unwrap_or_default();
                // In a JSON line the address ends with a quote.
                let address = printed.split_once("http://").and_then(|(_, rest)| rest.split(['"', ' ']).next());
                address.and_then(|address| address.trim().parse().ok())
            }
        };
        if let (Ready::Asked | Ready::At(_), Some(address)) = (ready, address) {
            while !client::get(address, "/readyz").await.is_ok_and(|status| status == 200) {
                anyhow::ensure!(begun.elapsed() < PATIENCE, "{address} isn't ready");
                tokio::time::sleep(GLANCE).await;
            }
        }
        Ok(Self { child, _stdin: stdin, address, ready_in: begun.elapsed() })
    }

    pub(crate) fn address(&self) -> anyhow::Result<SocketAddr> {
        self.address.context("this role doesn't listen")
    }

    pub(crate) fn busy(&self) -> anyhow::Result<Duration> {
        machine::busy(self.id()?)
    }

    pub(crate) fn memory(&self, which: &str) -> anyhow::Result<f64> {
        machine::memory(self.id()?, which)
    }

    /// Asks it to stop, and kills it if it doesn't.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        // The child keeps its id until it is waited for.
        let id = Pid::from_raw(i32::try_from(self.id()?)?);
        signal::kill(id, Signal::SIGTERM)?;
        if tokio::time::timeout(PATIENCE, self.child.wait()).await.is_err() {
            self.child.kill().await?;
        }
        Ok(())
    }

    fn id(&self) -> anyhow::Result<u32> {
        self.child.id().context("the role has ended")
    }
}

/// Finds the line that shows that the role is ready, and prints errors. Reads to the end, so that the role never
/// blocks.
async fn read(stderr: ChildStderr, found: watch::Sender<Option<String>>) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line.contains("listening on http://") || line == "ready" {
            found.send_replace(Some(line));
        } else if ["ERROR", "Error:"].iter().any(|sign| line.contains(sign)) {
            eprintln!("  {line}");
        }
    }
}
