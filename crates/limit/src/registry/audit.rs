//! Reads the audit log of rules: who changed them, when, and from what to what. The scripts that change rules add the
//! entries.

use dripfeed_store::{Store, StoreError};

use super::keys::RegistryKeys;

/// The number of entries that are kept, of all services together.
pub(super) const MOST_ENTRIES: usize = 1000;

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesAuditEntry {
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// The id of the acting key. `None` if no keys were configured.
    pub by: Option<String>,
    /// `create`, `change` or `delete`.
    pub action: String,
    pub service: String,
    /// Such as `policies.each.tiers.0.limit: 1 → 2`.
    pub detail: String,
}

/// Returns the latest entries of all services, the newest first.
pub(super) async fn entries(store: &Store, keys: &RegistryKeys) -> Result<Vec<RulesAuditEntry>, StoreError> {
    let entries = store.audit_log(&keys.audit, MOST_ENTRIES).await?;
    let shown = entries.into_iter().map(|entry| RulesAuditEntry {
        at_ms: entry.at_ms,
        by: Some(entry.text("key")).filter(|key| !key.is_empty()),
        action: entry.text("action"),
        service: entry.text("service"),
        detail: entry.text("detail"),
    });
    Ok(shown.collect())
}
