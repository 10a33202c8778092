//! Callers whose jobs wait for their turns.

use serde::Deserialize;

#[derive(Default, Deserialize)]
pub(crate) struct Flows {
    pub(crate) items: Vec<Flow>,
}

#[derive(Deserialize)]
pub(crate) struct Flow {
    /// None: of a group, or without a key.
    pub(crate) caller: Option<String>,
    /// When it is looked at again, while its rate or its concurrency is used up, or it is paused.
    pub(crate) throttled_until: Option<String>,
}
