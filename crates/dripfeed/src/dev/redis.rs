//! The private Redis of `dripfeed dev`: a child process that is restarted when it dies.

use std::path::Path;
use std::time::Duration;

use dripfeed_store::{PrivateServer, ServerError, ServerOptions};
use tokio_util::sync::CancellationToken;

use crate::output;

const RESTART_DELAY: Duration = Duration::from_secs(1);

pub(super) struct PrivateRedis(PrivateServer);

impl PrivateRedis {
    /// # Errors
    /// When no server is installed, or it doesn't start.
    pub(super) async fn start(folder: &Path) -> Result<Self, ServerError> {
        PrivateServer::start(folder, ServerOptions::default()).await.map(Self)
    }

    pub(super) fn url(&self) -> String {
        self.0.url()
    }

    /// Keeps Redis running until `stop`, then shuts it down, which saves its data.
    ///
    /// # Errors
    /// When it can't be restarted, or its shutdown fails.
    pub(super) async fn keep(mut self, stop: CancellationToken) -> Result<(), ServerError> {
        loop {
            tokio::select! {
                () = stop.cancelled() => return self.0.stop().await,
                died = self.0.died() => output::say(format_args!("{died}\nrestarting it in a second; accepted jobs are \
                    in its append-only file")),
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(RESTART_DELAY) => self.0.start_again().await?,
            }
        }
    }
}
