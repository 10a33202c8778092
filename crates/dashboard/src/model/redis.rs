//! Redis, and the findings of the doctor.

use serde::Deserialize;

#[derive(Deserialize)]
pub struct Redis {
    pub(crate) servers: Vec<Server>,
    pub(crate) durability_configured: String,
    pub(crate) durability: String,
    pub(crate) worst_case_bytes: u64,
    pub(crate) memory_warning: Option<String>,
}

impl Redis {
    /// Without the warning about memory, which the Redis of a playground needn't have.
    #[must_use]
    pub fn of_playground(self) -> Self {
        Self { memory_warning: None, ..self }
    }
}

#[derive(Deserialize)]
pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) product: String,
    pub(crate) used_memory: u64,
    pub(crate) peak_memory: u64,
    pub(crate) max_memory: u64,
    pub(crate) eviction: String,
    pub(crate) append_only: bool,
    pub(crate) append_fsync: Option<String>,
    pub(crate) replicas: u64,
    pub(crate) findings: Vec<ServerFinding>,
    /// The newest first. `None` if Redis denies `SLOWLOG`; an intake of an earlier version doesn't send them.
    #[serde(default)]
    pub(crate) slow_commands: Option<Vec<SlowCommand>>,
}

#[derive(Deserialize)]
pub(crate) struct SlowCommand {
    pub(crate) at: String,
    pub(crate) took_us: u64,
    pub(crate) command: String,
    pub(crate) script: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct ServerFinding {
    pub(crate) severity: String,
    pub(crate) what: String,
    pub(crate) what_to_do: String,
}

#[derive(Deserialize)]
pub(crate) struct Examination {
    pub(crate) findings: Vec<Finding>,
    pub(crate) unchecked: Vec<String>,
}

#[derive(Deserialize)]
pub(crate) struct Finding {
    pub(crate) what: String,
    pub(crate) count: u64,
    pub(crate) example: Option<String>,
    pub(crate) remedy: Option<String>,
}
