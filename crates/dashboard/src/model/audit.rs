//! The audit log.

use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct AuditEntry {
    pub(crate) at: String,
    pub(crate) key: Option<String>,
    pub(crate) action: String,
    pub(crate) detail: String,
    /// Only of an entry about the rules of a service.
    #[serde(default)]
    pub(crate) service: String,
}
