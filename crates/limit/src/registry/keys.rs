//! The Redis keys of the registry of services.

/// No bucket and no service has this hash tag, as their names can't contain `@`.
#[derive(Clone, Debug)]
pub(crate) struct RegistryKeys {
    /// Hash: service → its rules, `{"policies": […]}`.
    pub(crate) rules: String,
    /// Hash: `version`, which grows with each change; `bytes` of all rules.
    pub(crate) state: String,
    /// Hash: intake → its number of heartbeats.
    pub(crate) intakes: String,
    /// Stream: who changed which rules.
    pub(crate) audit: String,
}

impl RegistryKeys {
    pub(crate) fn new(prefix: &str) -> Self {
        let key = |what: &str| format!("{prefix}:{{@services}}:{what}");
        Self { rules: key("rules"), state: key("state"), intakes: key("intakes"), audit: key("audit") }
    }

    /// The KEYS of scripts that change rules.
    pub(super) fn to_change(&self) -> [&String; 3] {
        [&self.rules, &self.state, &self.audit]
    }
}
