//! The upstream's answer in the body of an outcome job ([`crate::outcome::outcome_job`]).

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The JSON pointer of the answer.
pub(super) const ANSWER: &str = "/outcome/body";

#[derive(Deserialize)]
struct OutcomeJob<'j> {
    #[serde(rename = "bucket")]
    _bucket: IgnoredAny,
    #[serde(rename = "state")]
    _state: IgnoredAny,
    #[serde(borrow)]
    outcome: Answer<'j>,
}

#[derive(Deserialize)]
pub(super) struct Answer<'j> {
    #[serde(borrow)]
    pub(super) body: Cow<'j, str>,
    #[serde(default)]
    pub(super) base64: bool,
}

/// Returns `None` if the JSON isn't the body of an outcome job, or has no answer.
pub(super) fn answer_in(json: &str) -> Option<Answer<'_>> {
    serde_json::from_str::<OutcomeJob<'_>>(json).ok().map(|job| job.outcome)
}
