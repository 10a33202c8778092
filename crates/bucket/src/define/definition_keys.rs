//! The Redis keys of the definitions.

/// No bucket can have their hash tag: `@` is in no name.
#[derive(Clone, Debug)]
pub(crate) struct DefinitionKeys {
    /// Hash: bucket → `incarnation capacity_bytes {"by":…,"definition":…,"sealed":…}`; with `"deleting":true` before
    /// the others once its deletion is decided.
    pub(crate) definitions: String,
    /// Zset: bucket → the version of its last change; deleted ones stay for a day.
    pub(crate) changed: String,
    /// Hash: `version` of the last change; `epoch`, random; `bytes`, the `capacity_bytes` of all; `text_bytes`, of all
    /// definitions; `forgotten`, the highest version of a deletion that nobody remembers.
    pub(crate) state: String,
    /// Zset: deleted bucket → the version of that.
    pub(crate) deleted: String,
}

impl DefinitionKeys {
    pub(crate) fn new(prefix: &str) -> Self {
        let key = |what: &str| format!("{prefix}:{{@buckets}}:{what}");
        Self { definitions: key("definitions"), changed: key("changed"), state: key("state"), deleted: key("deleted") }
    }

    /// In the order of the KEYS of scripts that change them.
    pub(crate) fn all(&self) -> [&String; 4] {
        [&self.definitions, &self.changed, &self.state, &self.deleted]
    }
}
