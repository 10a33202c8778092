//! The schema of a schedule's job, for the API description: what `submit::batch::item` parses, without options about
//! time.

#![expect(dead_code, reason = "the fields are read by the derive alone")]

use serde::Deserialize;
use utoipa::ToSchema;

use crate::openapi::formats::{Duration, Group, OutcomeTargets, Priority};

/// The job of each tick: `body`, or `body_base64`.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ScheduleJob {
    Json(ScheduleJsonJob),
    Bytes(ScheduleBytesJob),
}

/// A job with a JSON payload.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleJsonJob {
    /// Forwarded as the JSON text in the request.
    body: serde_json::Value,
    /// By default `application/json`.
    #[schema(required = false, pattern = "^[ -~]*$")]
    content_type: String,
    #[schema(required = false)]
    options: ScheduleJobOptions,
}

/// A job with another payload.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleBytesJob {
    #[schema(pattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$")]
    body_base64: String,
    #[schema(required = false, pattern = "^[ -~]*$")]
    content_type: String,
    #[schema(required = false)]
    options: ScheduleJobOptions,
}

/// The options of a job in a batch, without delay, start time and idempotency key.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleJobOptions {
    #[schema(required = false, value_type = Duration, inline)]
    expires_in: String,
    #[schema(required = false, pattern = "^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$")]
    method: String,
    #[schema(required = false)]
    path: String,
    /// Headers to forward to the upstream.
    #[schema(required = false)]
    forward: std::collections::BTreeMap<String, String>,
    #[schema(required = false, value_type = Priority, inline)]
    priority: String,
    #[schema(required = false, value_type = Group, inline)]
    group: String,
    #[schema(required = false, value_type = OutcomeTargets, inline)]
    on_outcome: String,
    #[schema(required = false, minimum = 0, maximum = 100)]
    retries: u32,
    #[schema(required = false, value_type = Duration, inline)]
    timeout: String,
}
