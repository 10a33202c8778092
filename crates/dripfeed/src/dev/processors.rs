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

const RESTART_DELAY: Duration = Duration::from_secs(1);
/// The time after its drain in which a processor requeues its jobs and deregisters.
const AFTER_DRAIN: Duration = Duration::from_secs(5);

/// How to start a processor, and how long it may take to stop.
#[derive(Clone, Debug)]
pub(super) struct Processors {
    program: PathBuf,
    arguments: Vec<String>,
    stop_timeout: Duration,
}

impl Processors {
    /// # Errors
    /// When this executable can't be found.
    pub(super) fn new(layers: &Layers, settings: &Settings) -> Result<Self, Failure> {
        let files = layers.files.iter().map(|file| file.display().to_string());
        // Each processor needs a port for health and metrics. Here nothing uses it, so any free one will do.
        let own_port = ["processor.listen=127.0.0.1:0".to_owned()];
        let set = layers.arguments.iter().cloned().chain(own_port);
        let options = files.map(|file| ["--config".to_owned(), file]).chain(set.map(|set| ["--set".to_owned(), set]));
        let insecure = layers.insecure_no_auth.then(|| "--insecure-no-auth".to_owned());
        let role = ["processor".to_owned(), "--until-stdin-ends".to_owned()];
        Ok(Self {
            program: std::env::current_exe()?,
            arguments: options.flatten().chain(insecure).chain(role).collect(),
            stop_timeout: settings.processor.settings.drain + AFTER_DRAIN,
        })
    }

    /// Keeps processor `number` running until `stop`, then lets it drain.
    ///
    /// # Errors
    /// When it can't be started, or refuses the settings.
    pub(super) async fn keep(self, number: usize, stop: CancellationToken) -> Result<(), Failure> {
        while !stop.is_cancelled() {
            let mut child = self.start()?;
            let pid = child.id().unwrap_or_default();
            // Taken from `child`, because `wait` closes the pipe of a child, which would stop the processor.
            let _pipe = child.stdin.take();
            output::say(format_args!("processor {number} is process {pid}: `kill -9 {pid}` loses no job"));
            let status = tokio::select! {
                status = child.wait() => status?,
                () = stop.cancelled() => return self.drain(child).await,
            };
            if stop.is_cancelled() {
                break;
            }
            refuse_restart_if_misconfigured(status)?;
            output::say(format_args!("processor {number} exited ({status}); restarting it in a second"));
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(RESTART_DELAY) => {}
            }
        }
        Ok(())
    }

    fn start(&self) -> Result<Child, Failure> {
        let child = Command::new(&self.program)
            .args(&self.arguments)
            // The processor stops when this pipe is closed, which happens even if this process is killed.
            .stdin(Stdio::piped())
            // So Ctrl-C at the terminal doesn't signal the processor: this process stops it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        child.map_err(|error| anyhow::anyhow!("can't start {}: {error}", self.program.display()).into())
    }

    async fn drain(&self, mut child: Child) -> Result<(), Failure> {
        // While `child` has an id, it isn't reaped, so no other process can have this id.
        if let Some(pid) = child.id().and_then(|id| i32::try_from(id).ok()) {
            kill(Pid::from_raw(pid), Signal::SIGTERM).map_err(anyhow::Error::from)?;
        }
        match tokio::time::timeout(self.stop_timeout, child.wait()).await {
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

/// Fails if the processor refused its settings, as it would refuse them again.
fn refuse_restart_if_misconfigured(status: ExitStatus) -> Result<(), Failure> {
    if status.code() == Some(Exit::Configuration as i32) {
        return Err(Failure::new(Exit::Configuration, "a processor rejected the configuration, see above"));
    }
    Ok(())
}
