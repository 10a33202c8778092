//! The schema of rules. These types only document; the limit crate parses rules, and reports all faults at once.

#![expect(dead_code, reason = "the fields are read by the derive alone")]

use utoipa::ToSchema;

/// Policies: the rules of a service, or the rate limits of a bucket.
#[derive(ToSchema)]
#[schema(as = Rules, example = json!({ "policies": [{
    "id": "put-product",
    "match": { "methods": ["PUT"], "path": "/v1/organizations/{org}/product/{id}" },
    "key": ["tenant", "endpoint"],
    "tiers": [{ "kind": "bucket", "rate": "10/s", "burst": 20 }, { "kind": "fixed", "limit": 10000, "period": "1d" }],
    "message": "retry-with-exponential-backoff"
}] }))]
#[serde(deny_unknown_fields)]
pub(crate) struct RulesDocument {
    #[schema(max_items = 100)]
    policies: Vec<Policy>,
}

#[derive(ToSchema)]
#[serde(untagged)]
pub(crate) enum Limits {
    List(Vec<Policy>),
    Document(RulesDocument),
}

/// The rules of a service, as policies or as service levels.
#[derive(ToSchema)]
#[schema(as = PublishedRules)]
#[serde(untagged)]
pub(crate) enum PublishedDocument {
    Policies(RulesDocument),
    ServiceLevels(ServiceLevels),
}

#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceLevels {
    #[schema(max_items = 100)]
    slas: Vec<ServiceLevel>,
}

/// Rate limits of each tenant on an endpoint.
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

/// One, or a list.
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
    /// A path with `{name}` for a segment. Of regular expressions, `.*`, `.+`, `[^/]*` and `[^/]+` can stand for a
    /// segment; `.*` and `.+` at the end for any rest.
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

/// A rate limit. Of the matching policies with the same key, those with the most specific match apply.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Policy {
    /// Counters are kept by this id.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$")]
    id: String,
    #[schema(required = false, default = true)]
    enabled: bool,
    #[schema(required = false)]
    mode: Mode,
    #[schema(required = false)]
    r#match: Match,
    /// Key of the counters: `caller`, `tenant`, `endpoint`, `ip`, `header:<name>`, `path:<variable>`; for a bucket also
    /// `field:<JSON pointer>`. Empty: one counter for all.
    #[schema(required = false)]
    key: Vec<KeyPart>,
    /// The cost of a request: a number, or the value of a header. 1 by default.
    cost: Option<Cost>,
    /// A request must pass all tiers.
    #[schema(min_items = 1, max_items = 16)]
    tiers: Vec<Tier>,
    #[schema(required = false)]
    consistency: Consistency,
    /// For `async`: the interval of synchronisation with Redis, such as `1s`.
    sync: Option<String>,
    #[schema(required = false)]
    on_store_error: OnStoreError,
    /// The message for a refused caller.
    message: Option<String>,
    /// Maximum number of counters for values from requests: headers, fields, addresses, path variables. Beyond that,
    /// values share counters.
    #[schema(nullable = false, minimum = 1, maximum = 16_777_216, default = 262_144)]
    max_scopes: Option<u64>,
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
    /// Empty: any method.
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

/// `enforce`, `shadow` (evaluated and counted, never refusing) or `off`.
#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Enforce,
    Shadow,
    Off,
}

/// How intakes share a limit. `strict`: each check asks Redis. `leased` (kinds `bucket` and `fixed`): an intake takes a
/// share ahead; never more than the limit, and of a bucket at most 3/8 of the burst at once. `async`: an intake counts
/// locally and synchronises every `sync`; in one burst each intake allows the whole limit.
#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
enum Consistency {
    Strict,
    Leased,
    Async,
}

/// While Redis is unavailable: `closed` refuses all, `open` allows all, `local`: each intake enforces its share.
#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
enum OnStoreError {
    Closed,
    Open,
    Local,
}

/// Members by kind: `limit` and `period`, or both as `rate`, for all kinds; `burst` for `bucket`; `align` and `spread`
/// for `fixed`; `min_gap` and `count_denied` for `log`. `backlog` has only a `limit`, and is for buckets.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
struct Tier {
    kind: TierKind,
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
    /// The part of the key that shifts the windows.
    spread: Option<String>,
    /// The minimum interval between two requests.
    #[schema(example = "10ms")]
    min_gap: Option<String>,
    count_denied: Option<bool>,
}

#[derive(ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Kind)]
enum TierKind {
    Bucket,
    Gate,
    Fixed,
    Sliding,
    Log,
    Backlog,
}
