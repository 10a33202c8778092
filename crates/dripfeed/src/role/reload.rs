//! Reloads the settings at SIGHUP, and applies those that can change in a running process.

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

/// Why valid settings weren't applied. The earlier ones stay in force.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct Refused(pub(crate) String);

/// The settings in force, and their sources.
pub(crate) struct Reloading {
    layers: Layers,
    pub(crate) settings: Settings,
    pub(crate) metrics: SettingsMetrics,
    log: Log,
    hangups: Signal,
}

impl Reloading {
    /// Starts to handle SIGHUP, which would otherwise end the process.
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

    /// Passes valid settings to `apply` at each SIGHUP. Invalid ones, and those that `apply` refuses, are logged and
    /// change nothing.
    pub(crate) async fn forever(mut self, apply: impl Fn(&Settings) -> Result<(), Refused>) -> Infallible {
        loop {
            self.hangups.recv().await;
            service_manager::reloading();
            let result = match Settings::load_with_checksum(&self.layers) {
                Ok((settings, checksum)) => self.apply(&settings, checksum, &apply),
                Err(errors) => self.keep(&errors),
            };
            service_manager::reloaded(result);
        }
    }

    /// Keeps the settings in force. Returns the result for the service manager.
    fn keep(&self, why: &dyn Display) -> &'static str {
        self.metrics.refused();
        tracing::error!(error = %why, "reload failed; settings unchanged");
        "reload failed; settings unchanged; the log names the errors"
    }

    /// Applies settings. Returns the result for the service manager.
    fn apply(
        &self,
        settings: &Settings,
        checksum: SettingsChecksum,
        apply: impl Fn(&Settings) -> Result<(), Refused>,
    ) -> &'static str {
        if let Err(refused) = apply(settings) {
            return self.keep(&refused);
        }
        self.metrics.applied(checksum);
        self.log.set_level(&settings.log.level);
        let need_restart = self.settings.restart_needed(settings);
        if !need_restart.is_empty() {
            let settings = need_restart.join(", ");
            tracing::warn!(settings, "settings changed that are read at the start only; restart to apply them");
        }
        tracing::info!(buckets = settings.buckets.len(), keys = settings.keys.len(), "settings reloaded");
        if need_restart.is_empty() {
            "settings reloaded"
        } else {
            "settings reloaded; others need a restart; see the log"
        }
    }
}
