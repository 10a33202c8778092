//! The Redis keys of the registry of services.

/// No bucket and no service can have their hash tag: `@` is in no name.
#[derive(Clone, Debug)]
pub(crate) struct RegistryKeys {
    /// Hash: service → its rules, `{"policies": […]}`.
    pub(crate) rules: String,
    /// Hash: `version`, another one after each change; `bytes`, of all rules.
    pub(crate) state: String,
    /// Hash: intake → its heartbeats.
    pub(crate) intakes: String,
}

impl RegistryKeys {
    pub(crate) fn new(prefix: &str) -> Self {
        let key = |what: &str| format!("{prefix}:{{@services}}:{what}");
        Self { rules: key("rules"), state: key("state"), intakes: key("intakes") }
    }
}
