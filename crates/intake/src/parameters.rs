//! Parameters that several calls have in common, for the API description.
//!
//! The types document; nothing is read into them: `caller` and `options` do the reading, where a bad value gets the
//! answer that the contract names.

#![expect(dead_code, reason = "the fields are read by the derive alone")]

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct Bucket {
    /// The bucket's name.
    #[param(pattern = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    bucket: String,
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
    /// The job's id, as the 202 gave it.
    #[param(pattern = "^[0-9]+-[0-9]+$", example = "1700000000000-0")]
    id: String,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct Options {
    /// One job per key: sent again with the same content, it names the same job.
    #[param(rename = "Idempotency-Key", pattern = "^[!-~]([ -~]{0,253}[!-~])?$")]
    idempotency_key: Option<String>,
    /// Not before this time from now: `10s`, `5m`, at most 30 days.
    #[param(rename = "Dripfeed-Delay", example = "10s", pattern = "^([0-9]{1,6}(ms|s)|[0-9]{1,4}m|[0-9]{1,2}h)$")]
    delay: Option<String>,
    /// Not before this time, RFC 3339, at most 30 days ahead.
    #[param(rename = "Dripfeed-Not-Before", format = DateTime)]
    not_before: Option<String>,
    /// Not started by then, the job expires: `60s`, at most 30 days.
    #[param(
        rename = "Dripfeed-Expires-In",
        example = "60s",
        pattern = "^([1-9][0-9]{0,5}(ms|s)|[1-9][0-9]{0,3}m|[1-9][0-9]?h)$"
    )]
    expires_in: Option<String>,
    /// Attempts after the first.
    #[param(rename = "Dripfeed-Retries", minimum = 0, maximum = 100)]
    retries: Option<u32>,
    /// For one attempt, body included: `30s`, at most an hour.
    #[param(rename = "Dripfeed-Timeout", example = "30s", pattern = "^([1-9][0-9]{0,3}ms|[1-9][0-9]{0,2}s|[1-9]m)$")]
    timeout: Option<String>,
    /// `wait=10`: wait so many seconds, at most 60, for the upstream's answer.
    #[param(rename = "Prefer", example = "wait=10")]
    prefer: Option<String>,
    /// The trace this job belongs to (W3C Trace Context).
    traceparent: Option<String>,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct MethodAndPath {
    /// Instead of the bucket's own: GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS.
    #[param(rename = "Dripfeed-Method", example = "PUT", pattern = "^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$")]
    method: Option<String>,
    /// Appended to the bucket's upstream.
    #[param(rename = "Dripfeed-Path", example = "/orders/17?notify=1")]
    path: Option<String>,
}

#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Paging {
    /// The most items.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// `next` of the page before.
    cursor: Option<String>,
}
