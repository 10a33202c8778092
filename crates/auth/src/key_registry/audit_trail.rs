//! Reads the audit log of keys: who created, changed and revoked them, and when. The scripts that do so add the
//! entries.

use super::KeyRegistry;
use super::error::KeyRegistryError;

/// The number of entries that the scripts keep.
const MAX_ENTRIES: usize = 100;

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyAuditEntry {
    pub at_ms: u64,
    /// The id of the acting key.
    pub by: String,
    /// `create`, `change` or `delete`.
    pub action: String,
    /// The id of the affected key.
    pub id: String,
    pub detail: String,
}

impl KeyRegistry {
    /// Returns the latest entries, the newest first.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't respond in time.
    pub async fn audit_trail(&self) -> Result<Vec<KeyAuditEntry>, KeyRegistryError> {
        let entries = self.store.audit_log(&self.keys.audit, MAX_ENTRIES).await?;
        let shown = entries.into_iter().map(|entry| {
            let [by, action, id, detail] = ["key", "action", "id", "detail"].map(|field| entry.text(field));
            KeyAuditEntry { at_ms: entry.at_ms, by, action, id, detail }
        });
        Ok(shown.collect())
    }
}
