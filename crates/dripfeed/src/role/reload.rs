//! SIGHUP: reads the settings again, and applies those that can change in a running process.

use std::convert::Infallible;
use std::fmt::Display;

use thiserror::Error;
use tokio::signal::unix::Signal;

use super::settings_metrics::SettingsMetrics;
use crate::exit::Failure;
use crate::service_manager;
use crate::settings::{Layers, Misnamed, Settings, SettingsChecksum};
use crate::signals;
use crate::telemetry::Log;

/// Why sound settings can't take the place of those in force; nothing has changed.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) String);

/// The settings in force, and where they came from.
pub(crate) struct Reloading {
    layers: Layers,
    pub(crate) settings: Settings,
    pub(crate) metrics: SettingsMetrics,
    log: Log,
    hangups: Signal,
}

impl Reloading {
    /// From now on a SIGHUP doesn't end the process.
    ///
    /// # Errors
    /// When signals can't be received.
    pub(crate) fn new(
        layers: Layers,
        settings: Settings,
        checksum: SettingsChecksum,
        log: Log,
    ) -> Result<Self, Failure> {
        for Misnamed { variable, setting } in &settings.misnamed_variables {
            tracing::warn!(
                variable,
                setting,
                "this environment variable sets nothing; rename it to that of the setting"
            );
        }
        let metrics = SettingsMetrics::of(checksum);
        Ok(Self { layers, settings, metrics, log, hangups: signals::hangups()? })
    }

    /// At each SIGHUP gives sound settings to `apply`; unsound ones, and those that it refuses, are reported and change
    /// nothing.
    pub(crate) async fn forever(mut self, apply: impl Fn(&Settings) -> Result<(), Refused>) -> Infallible {
        loop {
            self.hangups.recv().await;
            service_manager::reloading();
            let became = match Settings::load_with_checksum(&self.layers) {
                Ok((settings, checksum)) => self.take(&settings, checksum, &apply),
                Err(errors) => self.keep(&errors),
            };
            service_manager::reloaded(became);
        }
    }

    /// What became of it, for the service manager.
    fn keep(&self, why: &dyn Display) -> &'static str {
        self.metrics.refused();
        tracing::error!(error = %why, "reload failed; settings unchanged");
        "reload failed; settings unchanged; the log names the errors"
    }

    /// What became of it, for the service manager.
    fn take(
        &self,
        settings: &Settings,
        checksum: SettingsChecksum,
        apply: impl Fn(&Settings) -> Result<(), Refused>,
    ) -> &'static str {
        if let Err(refused) = apply(settings) {
            return self.keep(&refused);
        }
        self.metrics.taken(checksum);
        self.log.set_level(&settings.log.level);
        let by_restart = self.settings.restart_needed(settings);
        if !by_restart.is_empty() {
            let settings = by_restart.join(", ");
            tracing::warn!(settings, "settings changed that are read at the start only; restart to apply them");
        }
        tracing::info!(buckets = settings.buckets.len(), keys = settings.keys.len(), "settings reloaded");
        if by_restart.is_empty() {
            "settings reloaded"
        } else {
            "settings reloaded; others need a restart; see the log"
        }
    }
}
