//! The state and outcome of a job.

use dripfeed_job::{BucketName, Ending, JobId, JobState};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};

/// A job without its payload. Times are RFC 3339.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct JobStatus {
    pub id: JobId,
    pub bucket: BucketName,
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    pub state: JobState,
    /// Attempts started.
    pub attempts: u32,
    pub accepted_at: String,
    /// When the next attempt is due, while it is scheduled.
    pub due_at: Option<String>,
    /// The id of the key that submitted it.
    pub caller: Option<String>,
    /// `None` until the job has ended.
    pub outcome: Option<JobOutcome>,
    /// All other members of the API's response, such as the priority.
    #[serde(flatten)]
    pub more: Map<String, Json>,
}

/// How a job ended.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct JobOutcome {
    pub result: Ending,
    pub reason: Option<String>,
    /// The upstream's last status.
    pub status: Option<u16>,
    pub attempts: u32,
    pub settled_at: String,
    /// The stored part of the upstream's last response; `None` for keys without the scope `inspect`.
    pub body: Option<String>,
    /// Whether the stored response is cut.
    pub truncated: bool,
    /// All other members of the API's response, such as the content type of the body.
    #[serde(flatten)]
    pub more: Map<String, Json>,
}

impl JobStatus {
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        matches!(self.state, JobState::Ended(_))
    }
}

fn to_text<S: Serializer>(state: &JobState, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(state)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<JobState, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_that_the_api_shows_is_lost() {
        let outcome = json!({"result": "dead", "reason": "404", "status": 404, "attempts": 1, "body": null,
            "settled_at": "2030-01-01T00:00:01Z", "truncated": false, "content_type": "text/plain"});
        let shown = json!({"id": "1700000000000-0", "bucket": "b", "state": "dead", "attempts": 1, "due_at": null,
            "accepted_at": "2030-01-01T00:00:00Z", "caller": null, "outcome": outcome, "priority": "high"});
        let read = serde_json::from_value::<JobStatus>(shown.clone());
        assert!(read.as_ref().is_ok_and(JobStatus::has_ended), "{read:?}");
        assert_eq!(read.and_then(serde_json::to_value).ok(), Some(shown));
    }
}
