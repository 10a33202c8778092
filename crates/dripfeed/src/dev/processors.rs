//! The processors of `dripfeed dev`: child processes, so that one can be killed while the others continue.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::{Layers, Settings};

const BEFORE_THE_NEXT: Duration = Duration::from_secs(1);
/// Beyond its drain, a processor that was asked to end returns what it holds and leaves.
const BEYOND_DRAIN: Duration = Duration::from_secs(5);

/// How to start one, and how long it may take to end.
#[derive(Clone, Debug)]
pub(super) struct Processors {
    program: PathBuf,
    arguments: Vec<String>,
    patience: Duration,
}

impl Processors {
    /// # Errors
    /// When this executable can't be found.
    pub(super) fn new(layers: &Layers, settings: &Settings) -> Result<Self, Failure> {
        let files = layers.files.iter().map(|file| file.display().to_string());
        // Each needs its own port for its health; nobody has to know it here.
        let own_port = ["processor.listen=127.0.0.1:0".to_owned()];
        let set = layers.arguments.iter().cloned().chain(own_port);
        let options = files.map(|file| ["--config".to_owned(), file]).chain(set.map(|set| ["--set".to_owned(), set]));
        let insecure = layers.insecure_no_auth.then(|| "--insecure-no-auth".to_owned());
        let role = ["processor".to_owned(), "--until-stdin-ends".to_owned()];
        Ok(Self {
            program: std::env::current_exe()?,
            arguments: options.flatten().chain(insecure).chain(role).collect(),
            patience: settings.processor.settings.drain + BEYOND_DRAIN,
        })
    }

    /// Keeps processor `number` running until `stop`, then lets it drain.
    ///
    /// # Errors
    /// When it can't be started, or says that it can't work with these settings.
    pub(super) async fn keep(self, number: usize, stop: CancellationToken) -> Result<(), Failure> {
        while !stop.is_cancelled() {
            let mut child = self.start()?;
            let pid = child.id().unwrap_or_default();
            // Kept here: to wait for a child closes what it holds itself of the pipe.
            let _pipe = child.stdin.take();
            output::say(format_args!("processor {number} is process {pid}: `kill -9 {pid}` loses no job"));
            let status = tokio::select! {
                status = child.wait() => status?,
                () = stop.cancelled() => return self.drain(child).await,
            };
            if stop.is_cancelled() {
                break;
            }
            may_start_again(status)?;
            output::say(format_args!("processor {number} exited ({status}); restarting it in a second"));
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(BEFORE_THE_NEXT) => {}
            }
        }
        Ok(())
    }

    fn start(&self) -> Result<Child, Failure> {
        let child = Command::new(&self.program)
            .args(&self.arguments)
            // It ends when this pipe does: also when this process is killed.
            .stdin(Stdio::piped())
            // Ctrl-C at the terminal is for us: we say when it ends.
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        child.map_err(|error| anyhow::anyhow!("can't start {}: {error}", self.program.display()).into())
    }

    async fn drain(&self, mut child: Child) -> Result<(), Failure> {
        // It isn't reaped while it has an id: no other process can have got that id.
        if let Some(pid) = child.id().and_then(|id| i32::try_from(id).ok()) {
            kill(Pid::from_raw(pid), Signal::SIGTERM).map_err(anyhow::Error::from)?;
        }
        match tokio::time::timeout(self.patience, child.wait()).await {
            Ok(status) => {
                status?;
            }
            Err(_) => {
                output::say(format_args!(
                    "a processor didn't stop in time and was killed; its jobs are requeued after the lease"
                ));
                child.kill().await?;
            }
        }
        Ok(())
    }
}

/// One that was killed may; one that refuses its settings would refuse them again.
fn may_start_again(status: ExitStatus) -> Result<(), Failure> {
    if status.code() == Some(Exit::Configuration as i32) {
        return Err(Failure::new(Exit::Configuration, "a processor rejected the configuration, see above"));
    }
    Ok(())
}
