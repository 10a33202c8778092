//! What rules look like, for the API description. Nothing is read into these types: the limit crate does that, and tells
//! all that is wrong at once.

#![expect(dead_code, reason = "the fields are read by the derive alone")]

use utoipa::ToSchema;

/// Policies: the rules of a service, or the limits of a bucket.
#[derive(ToSchema)]
#[schema(as = Rules, example = json!({ "policies": [{
    "id": "put-product",
    "match": { "methods": ["PUT"], "path": "/v1/organizations/{org}/product/{id}" },
    "key": ["tenant", "endpoint"],
    "tiers": [{ "kind": "bucket", "rate": "10/s", "burst": 20 }, { "kind": "fixed", "limit": 10000, "period": "1d" }],
    "message": "retry-with-exponential-backoff"
}] }))]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    #[schema(max_items = 100)]
    policies: Vec<Policy>,
}

/// The rules of a service; or the same as service levels.
#[derive(ToSchema)]
#[schema(as = PublishedRules)]
#[serde(untagged)]
pub(super) enum PublishedDocument {
    Policies(Document),
    ServiceLevels(ServiceLevels),
}

#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ServiceLevels {
    #[schema(max_items = 100)]
    slas: Vec<ServiceLevel>,
}

/// How often each tenant may call an endpoint.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
struct ServiceLevel {
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$")]
    id: String,
    #[schema(required = false)]
    enabled: bool,
    r#match: PatternMatch,
    tiers: Thresholds,
}

/// One may stand without a list.
#[derive(ToSchema)]
#[serde(untagged)]
enum Thresholds {
    Many(Vec<Threshold>),
    One(Threshold),
}

#[derive(ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PatternMatch {
    #[schema(required = false)]
    methods: Vec<Method>,
    #[schema(example = "/v1/organizations/{orgId}/product/{id}")]
    path_pattern: String,
}

#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
struct Threshold {
    /// In seconds.
    #[schema(minimum = 1)]
    period: u64,
    #[schema(minimum = 1)]
    threshold: u64,
}

/// What may pass. Of the policies that match a request and count by the same key, those with the most specific match are
/// in force.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Policy {
    /// What is consumed is counted under it.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$")]
    id: String,
    #[schema(required = false, default = true)]
    enabled: bool,
    #[schema(required = false)]
    mode: Mode,
    #[schema(required = false)]
    r#match: Match,
    /// What it counts by: `caller`, `tenant`, `endpoint`, `ip`, `header:<name>`, `path:<variable>`;
    /// for a bucket also `field:<JSON pointer>`. Empty: all together.
    #[schema(required = false)]
    key: Vec<KeyPart>,
    /// What a request counts: a number, or that in a header. 1 by itself.
    cost: Option<Cost>,
    /// All must pass.
    #[schema(min_items = 1, max_items = 16)]
    tiers: Vec<Tier>,
    #[schema(required = false)]
    consistency: Consistency,
    /// For `async`: how often Redis is told, such as `1s`.
    sync: Option<String>,
    #[schema(required = false)]
    on_store_error: OnStoreError,
    /// Told to the refused caller.
    message: Option<String>,
}

#[derive(ToSchema)]
#[schema(pattern = "^(caller|tenant|endpoint|ip|header:.+|path:.+|field:/.*)$", example = "caller")]
struct KeyPart(String);

#[derive(ToSchema)]
#[schema(pattern = "^[A-Za-z-]+$", example = "PUT")]
struct Method(String);

#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
struct Match {
    /// Empty: any.
    #[schema(required = false)]
    methods: Vec<Method>,
    /// A template: `/v1/{org}/product/{id}`, `*` for any segment, `**` for any rest.
    #[schema(pattern = "^/[^?#]*$", example = "/v1/{org}/product/{id}")]
    path: Option<String>,
}

#[derive(ToSchema)]
#[serde(untagged)]
enum Cost {
    Number(u64),
    Header(CostHeader),
}

#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
struct CostHeader {
    header: String,
}

/// Enforced; judged and counted, never heeded; or as if it weren't there.
#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Enforce,
    Shadow,
    Off,
}

/// How intakes share a limit.
#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
enum Consistency {
    Strict,
    Leased,
    Async,
}

/// While Redis is away: nothing passes, all does, or each intake enforces its part.
#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
enum OnStoreError {
    Closed,
    Open,
    Local,
}

/// Which members a kind has: `limit` and `period`, or both as `rate`, for each; `burst` for `bucket`; `align` and `spread`
/// for `fixed`; `min_gap` and `count_denied` for `log`. `backlog` has a `limit` alone, and is for buckets.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
struct Tier {
    kind: Kind,
    #[schema(minimum = 1)]
    limit: Option<u64>,
    #[schema(example = "1m")]
    period: Option<String>,
    #[schema(example = "10/s")]
    rate: Option<String>,
    #[schema(minimum = 1)]
    burst: Option<u64>,
    /// `epoch`, `first`, or `calendar(<time zone>)`.
    align: Option<String>,
    /// The part of the key by which windows are shifted.
    spread: Option<String>,
    /// The least time between two.
    #[schema(example = "10ms")]
    min_gap: Option<String>,
    count_denied: Option<bool>,
}

#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Bucket,
    Gate,
    Fixed,
    Sliding,
    Log,
    Backlog,
}
