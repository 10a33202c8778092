//! What a definition looks like, for the API description: the keys of a section `[buckets.NAME]`, which the reader of
//! settings reads.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The keys of a section `[buckets.NAME]`, over those of `[defaults]`: `upstream`, `method`, `timeout`, `capacity`,
/// `capacity_bytes`, `kind`, `leak`, `retry`, `keep`, `limits` and the others. `headers` and `signing_secret` are
/// sealed, where the operator has set `define.seal_key_file`, and never shown; they stay when neither is given and the
/// upstream's origin is the same. Not over the API: `allow_private`, `upstream_ca_file`, `key`, and keys that end with
/// `_file`.
#[derive(Serialize, ToSchema)]
#[schema(as = BucketDefinition)]
pub(crate) struct BucketDefinition {
    /// The address to call, one of `define.upstreams`.
    #[schema(example = "https://api.partner.example/v1/mail")]
    upstream: String,
    #[serde(flatten)]
    others: serde_json::Map<String, Value>,
}
