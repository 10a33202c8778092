//! Parameters shared by several operations, for the API description.
//!
//! These types only document. `request::access` and `submit::options` parse, and return the problems that the contract
//! names.

#![expect(dead_code, reason = "the fields are read by the derive alone")]

use crate::openapi::formats;

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct Bucket {
    /// The bucket's name.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    bucket: String,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct IfMatch {
    /// The `ETag` of what is to be changed, as last read; `*`: any existing version. If it was changed since, the
    /// answer is 412, which names its `ETag`, and nothing is changed. If omitted, the request is unconditional.
    #[param(rename = "If-Match", required = false, example = "\"*\"")]
    if_match: Option<String>,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct IfNoneMatch {
    /// `*`: only create it; if it exists, it isn't changed and the answer is 412.
    #[param(rename = "If-None-Match", required = false, example = "*")]
    if_none_match: Option<String>,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct Service {
    /// The service's name.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    service: String,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct Job {
    /// The job's id, from the 202 response.
    #[param(pattern = "^[0-9]+-[0-9]+$", example = "1700000000000-0")]
    id: String,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct Replay {
    /// The replay's id, from the 202 response.
    #[param(pattern = "^[0-9a-f]{16}$", example = "00c0ffee00c0ffee")]
    id: String,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct Schedule {
    /// The schedule's name.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", example = "nightly")]
    id: String,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct Key {
    /// The key's id.
    #[param(pattern = "^[!-~]{1,64}$", example = "team-a")]
    id: String,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct Wait {
    /// `wait=10`: wait this many seconds, at most 60, for the job to end. If too many requests are waiting, the answer
    /// is immediate, without `Preference-Applied`.
    #[param(rename = "Prefer", example = "wait=10", required = false)]
    prefer: Option<String>,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct Options {
    /// Idempotency key: a repeated request with the same key and content returns the same job.
    #[param(rename = "Idempotency-Key", value_type = formats::IdempotencyKey, inline, required = false)]
    idempotency_key: Option<String>,
    /// Delay of the first attempt, such as `10s` or `5m`, at most 30 days.
    #[param(rename = "Dripfeed-Delay", value_type = formats::Duration, inline, required = false)]
    delay: Option<String>,
    /// Earliest time of the first attempt (RFC 3339), at most 30 days ahead.
    #[param(rename = "Dripfeed-Not-Before", value_type = formats::Time, inline, required = false)]
    not_before: Option<String>,
    /// The job expires if within this time, such as `60s`, at most 30 days, no attempt has started that the upstream
    /// didn't throttle.
    #[param(rename = "Dripfeed-Expires-In", value_type = formats::Duration, inline, required = false)]
    expires_in: Option<String>,
    /// `high`, `normal` or `low`: all waiting jobs of a higher priority are called first. A key has a highest priority.
    #[param(rename = "Dripfeed-Priority", value_type = formats::Priority, inline, required = false)]
    priority: Option<String>,
    /// The group for fair queuing, with `fair.by = "group"`.
    #[param(rename = "Dripfeed-Group", value_type = formats::Group, inline, required = false)]
    group: Option<String>,
    /// The targets of the bucket's `on_outcome` that get an outcome job when this job ends: names separated by commas,
    /// or `none`; by default all. The payload of an outcome job is the ended `Job`, as in the list of outcomes, and its
    /// idempotency key is `BUCKET/ID/OUTCOME`.
    #[param(rename = "Dripfeed-On-Outcome", value_type = formats::OutcomeTargets, inline, required = false)]
    on_outcome: Option<String>,
    /// Maximum retries after the first attempt.
    #[param(rename = "Dripfeed-Retries", minimum = 0, maximum = 100)]
    retries: Option<u32>,
    /// Timeout of one attempt, including the response body, such as `30s`; at most an hour.
    #[param(rename = "Dripfeed-Timeout", value_type = formats::Duration, inline, required = false)]
    timeout: Option<String>,
    /// `wait=10`: wait this many seconds, at most 60, for the upstream's response. If too many requests are waiting,
    /// the answer is an immediate 202 without `Preference-Applied`.
    #[param(rename = "Prefer", example = "wait=10")]
    prefer: Option<String>,
    /// The trace context of the job (W3C Trace Context).
    traceparent: Option<String>,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct MethodAndPath {
    /// Overrides the bucket's method: GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.
    #[param(rename = "Dripfeed-Method", example = "PUT", pattern = "^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$")]
    method: Option<String>,
    /// Appended to the bucket's upstream URL.
    #[param(rename = "Dripfeed-Path", example = "/orders/17?notify=1")]
    path: Option<String>,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Paging {
    /// The maximum number of items.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Redacted {
    /// Mask the members and headers listed in `intake.redact`.
    #[param(default = false)]
    redacted: Option<bool>,
}
