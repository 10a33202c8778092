//! Metrics that show which settings are in force. If processes of an installation differ in them, neither the rate nor
//! the capacity of a bucket is enforced as configured.

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::settings::SettingsChecksum;

/// Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct SettingsMetrics {
    checksum: Gauge,
    reload_failed: Gauge,
}

impl SettingsMetrics {
    pub(crate) fn of(checksum: SettingsChecksum) -> Self {
        let metrics = Self::default();
        metrics.applied(checksum);
        metrics
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        let help = "Checksum of the settings of buckets, without credentials and files: the same in all processes";
        registry.register("settings_checksum", help, self.checksum.clone());
        let help = "1 if the settings could not be reloaded at the latest SIGHUP and earlier ones are in force, else 0";
        registry.register("settings_reload_failed", help, self.reload_failed.clone());
    }

    /// Records that the settings with this checksum are in force.
    pub(super) fn applied(&self, checksum: SettingsChecksum) {
        self.checksum.set(checksum.number());
        self.reload_failed.set(0);
    }

    /// Records that a reload failed.
    pub(super) fn refused(&self) {
        self.reload_failed.set(1);
    }
}
