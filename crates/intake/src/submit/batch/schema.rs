//! The schema of a batch, for the API description: what `item` and `split` parse.

use std::borrow::Cow;

use serde::Deserialize;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ArrayBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};

use crate::openapi::formats::{Duration, Group, IdempotencyKey, OutcomeTargets, Priority};

/// At least one item.
pub(super) struct BatchItems;

impl utoipa::PartialSchema for BatchItems {
    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new().items(Ref::from_schema_name(BatchItem::name())).min_items(Some(1)).into()
    }
}

impl ToSchema for BatchItems {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Batch")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((BatchItem::name().into_owned(), <BatchItem as utoipa::PartialSchema>::schema()));
        BatchItem::schemas(schemas);
    }
}

/// One job of a batch.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "this and what is in it are read by the derive alone")]
pub(super) enum BatchItem {
    Json(BatchJsonItem),
    Bytes(BatchBytesItem),
}

/// A job with a JSON payload.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the fields are read by the derive alone")]
pub(super) struct BatchJsonItem {
    /// Forwarded as the JSON text in the request.
    body: serde_json::Value,
    /// By default `application/json`.
    #[schema(required = false, pattern = "^[ -~]*$")]
    content_type: String,
    #[schema(required = false)]
    options: BatchOptions,
}

/// A job with another payload.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the fields are read by the derive alone")]
pub(super) struct BatchBytesItem {
    #[schema(pattern = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$")]
    body_base64: String,
    #[schema(required = false, pattern = "^[ -~]*$")]
    content_type: String,
    #[schema(required = false)]
    options: BatchOptions,
}

/// The same options as the headers of a single submission.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "the fields are read by the derive alone")]
struct BatchOptions {
    #[schema(required = false, value_type = IdempotencyKey, inline)]
    idempotency_key: String,
    #[schema(required = false, value_type = Duration, inline)]
    delay: String,
    #[schema(required = false, format = DateTime)]
    not_before: String,
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
