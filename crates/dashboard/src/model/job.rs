//! A job, its outcome, and a dead letter.

use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) state: String,
    pub(crate) attempts: u32,
    pub(crate) accepted_at: String,
    pub(crate) due_at: Option<String>,
    pub(crate) caller: Option<String>,
    pub(crate) consumer: Option<String>,
    pub(crate) outcome: Option<Outcome>,
}

#[derive(Deserialize)]
pub(crate) struct Outcome {
    pub(crate) result: String,
    pub(crate) reason: Option<String>,
    pub(crate) status: Option<u16>,
    pub(crate) attempts: u32,
    pub(crate) settled_at: String,
    pub(crate) body: Option<String>,
    pub(crate) content_type: Option<String>,
    #[serde(default)]
    pub(crate) base64: bool,
    #[serde(default)]
    pub(crate) truncated: bool,
}

#[derive(Deserialize)]
pub(crate) struct DeadLetter {
    pub(crate) id: String,
    pub(crate) accepted_at: String,
    pub(crate) died_at: String,
    pub(crate) caller: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) body_base64: Option<String>,
    pub(crate) outcome: Outcome,
}

/// The receipt of a submission or a replay.
#[derive(Deserialize)]
pub(crate) struct Receipt {
    pub(crate) id: String,
}

/// How a replay of many ended.
#[derive(Deserialize)]
pub(crate) struct Replayed {
    pub(crate) replayed: u64,
    pub(crate) left: u64,
}

#[derive(Deserialize)]
pub(crate) struct Purged {
    pub(crate) purged: u64,
}
