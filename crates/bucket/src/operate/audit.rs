//! The audit log of a bucket: who changed what, and when.

use dripfeed_job::{BucketName, audit_text};
use dripfeed_store::{AuditRecord, Script, Store};

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::keys::Keys;
use crate::script::scripts::SHARED;
use crate::settings::Kind;

static RECORD: Script = Script::new("record_audit", SHARED, include_str!("record_audit.lua"));

/// The maximum number of entries. The oldest ones are dropped.
const MOST_ENTRIES: usize = 100;

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// The id of the API key. `None` if no keys were configured.
    pub key: Option<String>,
    /// Such as `pause`.
    pub action: String,
    /// Details; may be empty.
    pub detail: String,
}

impl Bucket {
    /// Adds an entry, with the time of Redis. Works at `maxmemory`, too, because operators purge then.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn record(&self, key: Option<&str>, action: &str, detail: &str) -> Result<(), BucketError> {
        let keys = &self.redis_bucket.keys;
        let mut call = RECORD.on(&[keys.tally(), keys.audit()]);
        call.arg(MOST_ENTRIES).arg(key.unwrap_or_default()).arg(action).arg(audit_text::shortened(detail));
        call.arg(self.redis_bucket.incarnation_word());
        self.redis_bucket.store.run::<String>(&call).await?;
        Ok(())
    }

    /// Returns the latest entries, the newest first.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn audit_trail(&self) -> Result<Vec<AuditEntry>, BucketError> {
        audit_trail(&self.redis_bucket.store, self.name()).await
    }
}

/// Returns the latest entries of a bucket, the newest first, also if it was deleted.
///
/// # Errors
/// When Redis can't be reached, refuses, or doesn't answer in time.
pub async fn audit_trail(store: &Store, bucket: &BucketName) -> Result<Vec<AuditEntry>, BucketError> {
    let key = Keys::new(store.prefix(), bucket, None, Kind::Stream).audit();
    let entries = store.audit_log(&key, MOST_ENTRIES).await?;
    Ok(entries.iter().map(AuditEntry::read).collect())
}

impl AuditEntry {
    fn read(entry: &AuditRecord) -> Self {
        let [key, action, detail] = ["key", "action", "detail"].map(|field| entry.text(field));
        Self { at_ms: entry.at_ms, key: Some(key).filter(|key| !key.is_empty()), action, detail }
    }
}
