//! The Redis keys of the definitions.

/// The keys of the registry. No bucket has their hash tag `{@buckets}`, because no name contains `@`.
#[derive(Clone, Debug)]
pub(crate) struct DefinitionKeys {
    /// Hash: bucket → `incarnation capacity_bytes {"by":…,"definition":…,"sealed":…}`; once its deletion is decided,
    /// with `"deleting":true` as the first member.
    pub(crate) definitions: String,
    /// Zset: bucket → the version of its last change. Deleted buckets are kept for a day.
    pub(crate) changed: String,
    /// Hash: `version` of the last change; `epoch`, random; `bytes`, the sum of all `capacity_bytes`; `text_bytes`, the
    /// size of all definitions; `forgotten`, the version of the latest deletion that was removed from `deleted`.
    pub(crate) state: String,
    /// Zset: deleted bucket → the version of its deletion.
    pub(crate) deleted: String,
}

impl DefinitionKeys {
    pub(crate) fn new(prefix: &str) -> Self {
        let key = |what: &str| format!("{prefix}:{{@buckets}}:{what}");
        Self { definitions: key("definitions"), changed: key("changed"), state: key("state"), deleted: key("deleted") }
    }

    /// All keys, in the order of the KEYS of scripts that change definitions.
    pub(crate) fn all(&self) -> [&String; 4] {
        [&self.definitions, &self.changed, &self.state, &self.deleted]
    }
}
