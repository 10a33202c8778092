//! `GET /v1/redis`: the servers, their memory and persistence, and problems.

use axum::Json;
use axum::extract::State;
use dripfeed_auth::Read;
use dripfeed_bucket::{BucketError, memory_shortfall};
use dripfeed_store::{Durability, Severity, SlowCommand, StoreError, server_findings};
use serde::Serialize;
use utoipa::ToSchema;

use crate::installation::redis_servers::{FoundServer, RedisServers};
use crate::intake::Intake;
use crate::openapi::responses;
use crate::problem::{Code, Problem};
use crate::request::access::Allowed;
use crate::request::pagination::{NoParams, Params};
use crate::request::time;

/// The state of Redis.
#[derive(Serialize, ToSchema)]
#[schema(as = Redis)]
pub(crate) struct RedisState {
    /// The servers that accept writes: one, or all masters of a Cluster.
    servers: Vec<Server>,
    /// The configured durability class: `process`, `everysec`, `fsync` or `replicated`.
    #[schema(value_type = String)]
    durability_configured: Durability,
    /// The effective durability class, which answers name.
    #[schema(value_type = String)]
    durability: Durability,
    /// The maximum memory of all configured buckets together, and of those that may be created over the API.
    worst_case_bytes: u64,
    /// A warning about `maxmemory` of all servers; null: none.
    #[schema(required)]
    memory_warning: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = RedisServer)]
struct Server {
    address: String,
    /// Such as `Redis 7.0.15`.
    product: String,
    used_memory: u64,
    peak_memory: u64,
    /// `maxmemory`; 0: not set.
    max_memory: u64,
    /// `maxmemory-policy`.
    eviction: String,
    append_only: bool,
    /// `always`, `everysec` or `no`; null: the Redis ACL denies the query.
    #[schema(required)]
    append_fsync: Option<String>,
    /// Connected replicas.
    replicas: usize,
    findings: Vec<Finding>,
    /// The latest commands that took longer than `slowlog-log-slower-than`, at most 16, newest first, without their
    /// arguments; null: the Redis ACL denies the query.
    #[schema(required)]
    slow_commands: Option<Vec<Slow>>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = SlowCommand)]
struct Slow {
    at: String,
    took_us: u64,
    /// Such as `evalsha`.
    command: String,
    /// The name of a script of dripfeed; null: another command or script.
    #[schema(required)]
    script: Option<&'static str>,
}

impl From<SlowCommand> for Slow {
    fn from(SlowCommand { at_s, took_us, command, script }: SlowCommand) -> Self {
        Self { at: time::show(at_s.saturating_mul(1000)), took_us, command, script }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(as = RedisFinding)]
struct Finding {
    /// `error` or `warning`.
    severity: &'static str,
    what: String,
    what_to_do: String,
}

/// Returns the state and problems of Redis, at most a second old. With keys configured, this needs a key for all
/// buckets.
#[utoipa::path(
    get, path = "/v1/redis", tag = "installation",
    operation_id = "get_redis",
    responses((status = 200, description = "Redis", body = RedisState), responses::OfAll)
)]
pub(crate) async fn redis(
    State(intake): State<Intake>,
    Allowed { caller, .. }: Allowed<Read>,
    _: Params<NoParams>,
) -> Result<Json<RedisState>, Problem> {
    if !caller.may_use_all_buckets() {
        return Err(Problem::new(Code::Forbidden, "Redis serves all buckets, and this key is restricted to some"));
    }
    state(intake.redis(), intake.most_memory()).await.map(Json).map_err(|error| BucketError::from(error).into())
}

async fn state(redis: &RedisServers, worst_case_bytes: u64) -> Result<RedisState, StoreError> {
    let found = redis.found().await?;
    let servers: Vec<_> = found.into_iter().map(|server| Server::of(server, redis.configured())).collect();
    let limits: Vec<u64> = servers.iter().map(|server| server.max_memory).collect();
    Ok(RedisState {
        servers,
        durability_configured: redis.configured(),
        durability: redis.store().durability(),
        worst_case_bytes,
        memory_warning: memory_shortfall(&limits, worst_case_bytes),
    })
}

impl Server {
    fn of(found: FoundServer, configured: Durability) -> Self {
        let FoundServer { address, info, slow } = found;
        let findings = server_findings(&info, configured).into_iter().map(|finding| Finding {
            severity: if finding.severity == Severity::Error { "error" } else { "warning" },
            what: finding.what,
            what_to_do: finding.what_to_do,
        });
        Self {
            address,
            findings: findings.collect(),
            product: info.product,
            used_memory: info.used_memory,
            peak_memory: info.peak_memory,
            max_memory: info.max_memory,
            eviction: info.eviction,
            append_only: info.append_only,
            append_fsync: info.append_fsync.map(|fsync| fsync.to_string()),
            replicas: info.replicas,
            slow_commands: slow.map(|slow| slow.into_iter().map(Slow::from).collect()),
        }
    }
}
