//! Reads audit logs: streams of who did what, with the Redis clock as ids.

use redis::Value;
use redis::streams::{StreamId, StreamRangeReply};

use crate::error::StoreError;
use crate::store::Store;

/// An entry of an audit log.
#[derive(Clone, Debug)]
pub struct AuditRecord {
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    entry: StreamId,
}

impl AuditRecord {
    /// Returns a field. Empty if the entry, which others may have written, lacks it.
    #[must_use]
    pub fn text(&self, field: &str) -> String {
        match self.entry.map.get(field) {
            Some(Value::BulkString(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        }
    }
}

impl Store {
    /// Returns the entries of an audit log of which at most `most` are kept, the newest first.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't respond in time.
    pub async fn audit_log(&self, key: &str, most: usize) -> Result<Vec<AuditRecord>, StoreError> {
        let mut range = redis::cmd("XRANGE");
        range.arg(key).arg("-").arg("+").arg("COUNT").arg(most);
        let reply: StreamRangeReply = self.command(&range).await?;
        let record = |entry: StreamId| {
            let at_ms = entry.id.split('-').next().and_then(|ms| ms.parse().ok()).unwrap_or_default();
            AuditRecord { at_ms, entry }
        };
        Ok(reply.ids.into_iter().rev().map(record).collect())
    }
}
