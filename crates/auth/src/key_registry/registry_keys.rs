//! The Redis keys of the registry of API keys.

/// The keys. Their hash tag is that of no bucket, as names can't contain `@`.
#[derive(Clone, Debug)]
pub(super) struct RegistryKeys {
    /// Hash: id → `sha256 expires {"by":…,"scopes":…,"buckets":…,"services":…,"priority":…}`; `expires` in ms, or
    /// empty.
    pub(super) keys: String,
    /// Zset: id → the version of its last change; deleted ones stay for a day.
    pub(super) changed: String,
    /// Hash: `version` of the last change; `epoch`, random; `bytes`, of all keys; `forgotten`, the highest version of a
    /// deletion that is no longer in `deleted`.
    pub(super) state: String,
    /// Zset: deleted id → the version of the deletion.
    pub(super) deleted: String,
    /// Hash: SHA-256 → id.
    pub(super) hashes: String,
    /// Zset: id → ms at which it expires.
    pub(super) expires: String,
    /// Stream: who did what.
    pub(super) audit: String,
}

impl RegistryKeys {
    pub(super) fn new(prefix: &str) -> Self {
        let key = |what: &str| format!("{prefix}:{{@keys}}:{what}");
        Self {
            keys: key("keys"),
            changed: key("changed"),
            state: key("state"),
            deleted: key("deleted"),
            hashes: key("hashes"),
            expires: key("expires"),
            audit: key("audit"),
        }
    }

    /// In the order of the KEYS of scripts that change them.
    pub(super) fn all(&self) -> [&String; 7] {
        [&self.keys, &self.changed, &self.state, &self.deleted, &self.hashes, &self.expires, &self.audit]
    }
}
