//! The schema of a definition, for the API description. The settings of the executable parse definitions.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The keys of a section `[buckets.NAME]`, which override those of `[defaults]`: `upstream`, `method`, `timeout`,
/// `capacity`, `capacity_bytes`, `kind`, `leak`, `retry`, `keep`, `limits` and the others. `headers` and
/// `signing_secret` need `define.seal_key_file`; they are stored encrypted and never shown, and are kept if both are
/// omitted and the upstream's origin is unchanged. Not supported: `allow_private`, `upstream_ca_file`, `key`,
/// `on_outcome`, and keys that end with `_file`.
#[derive(Serialize, ToSchema)]
#[schema(as = BucketDefinition)]
pub(crate) struct BucketDefinition {
    /// The URL to call; must be allowed by `define.upstreams`.
    #[schema(example = "https://api.partner.example/v1/mail")]
    upstream: String,
    #[serde(flatten)]
    others: serde_json::Map<String, Value>,
}
