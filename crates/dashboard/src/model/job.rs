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
    #[serde(default)]
    pub(crate) failed_attempts: Vec<FailedAttempt>,
    pub(crate) replay_of: Option<String>,
    /// `None` if it wasn't requested, the job has ended, or the visitor may not see it.
    pub(crate) payload: Option<JobPayload>,
}

/// The request to the upstream, without the settings of the bucket.
#[derive(Deserialize)]
pub(crate) struct JobPayload {
    pub(crate) content_type: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) body_base64: Option<String>,
    #[serde(default)]
    pub(crate) truncated: bool,
    pub(crate) method: Option<String>,
    pub(crate) path: Option<String>,
    /// `None` if the visitor may not see them.
    pub(crate) headers: Option<Vec<Header>>,
}

#[derive(Deserialize)]
pub(crate) struct FailedAttempt {
    pub(crate) attempt: u32,
    pub(crate) started_at: String,
    pub(crate) took_ms: u64,
    pub(crate) replica: String,
    pub(crate) status: Option<u16>,
    pub(crate) reason: String,
    pub(crate) body: Option<String>,
    pub(crate) content_type: Option<String>,
    #[serde(default)]
    pub(crate) base64: bool,
    pub(crate) truncated: bool,
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
    #[serde(flatten)]
    pub(crate) payload: JobPayload,
    pub(crate) replay_of: Option<String>,
    pub(crate) outcome: Outcome,
}

/// Dead letters by reason and status.
#[derive(Deserialize)]
pub(crate) struct LetterGroups {
    pub(crate) items: Vec<LetterGroup>,
    /// Letters in groups that aren't listed.
    pub(crate) others: u64,
    /// The cursor of the letters that weren't counted.
    pub(crate) next: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct LetterGroup {
    pub(crate) reason: String,
    pub(crate) status: Option<u16>,
    pub(crate) letters: u64,
    pub(crate) last_died_at: String,
}

#[derive(Deserialize)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// The receipt of a submission or a replay.
#[derive(Deserialize)]
pub(crate) struct Receipt {
    pub(crate) id: String,
}

/// The result of a bulk cancel.
#[derive(Deserialize)]
pub(crate) struct Cancelled {
    pub(crate) cancelled: u64,
}

/// The result of deleting many dead letters.
#[derive(Deserialize)]
pub(crate) struct Deleted {
    pub(crate) deleted: u64,
}

#[derive(Deserialize)]
pub(crate) struct Purged {
    pub(crate) purged: u64,
}
