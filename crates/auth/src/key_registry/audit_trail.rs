//! Reads the audit log of keys: who created, changed and revoked them, and when. The scripts that do so add the
//! entries.

use redis::Value;
use redis::streams::StreamRangeReply;

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
        let mut range = redis::cmd("XRANGE");
        range.arg(&self.keys.audit).arg("-").arg("+").arg("COUNT").arg(MAX_ENTRIES);
        let reply: StreamRangeReply = self.store.command(&range).await?;
        let entry = |entry: redis::streams::StreamId| {
            let text = |name: &str| match entry.map.get(name) {
                Some(Value::BulkString(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
                _ => String::new(),
            };
            let at_ms = entry.id.split('-').next().and_then(|ms| ms.parse().ok()).unwrap_or_default();
            let [by, action, id, detail] = ["key", "action", "id", "detail"].map(text);
            KeyAuditEntry { at_ms, by, action, id, detail }
        };
        Ok(reply.ids.into_iter().rev().map(entry).collect())
    }
}
