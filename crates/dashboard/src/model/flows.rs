//! Callers with waiting jobs, for fair queuing.

use serde::Deserialize;

#[derive(Default, Deserialize)]
pub(crate) struct Flows {
    pub(crate) items: Vec<Flow>,
}

#[derive(Deserialize)]
pub(crate) struct Flow {
    /// `None` for a group, or jobs without a key.
    pub(crate) caller: Option<String>,
    #[serde(default)]
    pub(crate) paused: bool,
    /// While it is throttled: when it is checked again.
    pub(crate) throttled_until: Option<String>,
}
