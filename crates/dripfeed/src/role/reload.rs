//! SIGHUP: the settings are read again, and what can change in a running process changes.

use std::convert::Infallible;

use crate::exit::Failure;
use crate::settings::{Layers, Settings};
use crate::signals;
use crate::telemetry::Log;

/// The settings in force, and where they came from.
pub(crate) struct Reloading {
    pub(crate) layers: Layers,
    pub(crate) settings: Settings,
    pub(crate) log: Log,
}

impl Reloading {
    /// At each SIGHUP gives sound settings to `apply`; unsound ones are told, and change nothing.
    ///
    /// # Errors
    /// When the process can't be told of signals.
    pub(crate) async fn forever(self, apply: impl Fn(&Settings)) -> Result<Infallible, Failure> {
        let mut hangups = signals::hangups()?;
        loop {
            hangups.recv().await;
            match Settings::load(&self.layers) {
                Ok(settings) => {
                    self.log.set_level(&settings.log.level);
                    for section in self.settings.restart_needed(&settings) {
                        tracing::warn!(
                            "[{section}] has changed, which takes a restart: what was read at the start holds"
                        );
                    }
                    apply(&settings);
                    tracing::info!(
                        buckets = settings.buckets.len(),
                        keys = settings.keys.len(),
                        "settings are read again"
                    );
                }
                Err(faults) => tracing::error!("settings are kept as they were: {faults}"),
            }
        }
    }
}
