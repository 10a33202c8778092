//! `GET …/dead/groups`: dead letters counted by reason and last status.

use axum::Json;
use axum::extract::State;
use dripfeed_auth::{LimitedCaller, Read};
use dripfeed_bucket::{DeadGroup, DeadGroups};
use serde::Serialize;
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::jobs::dead_letters::DeadLettersQuery;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::Params;
use crate::request::time;

/// Counts dead letters by reason and last status, the largest groups first.
///
/// One answer counts up to 40,000 letters, fewer of large ones. With `next` the rest is counted: add up groups with the
/// same reason and status.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/dead/groups", tag = "dead letters",
    operation_id = "group_dead_letters",
    params(parameters::Bucket, DeadLettersQuery, parameters::Paging),
    responses((status = 200, description = "The groups", body = LetterGroups), responses::OfList)
)]
pub(crate) async fn dead_groups(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    ClientIp(address): ClientIp,
    Params(query): Params<DeadLettersQuery>,
) -> Result<Json<LetterGroups>, Problem> {
    let (filter, after, limit) = query.filter_of_groups()?;
    let waiter = LimitedCaller::new(caller.id(), address);
    let count =
        |bucket: dripfeed_bucket::Bucket| async move { bucket.dead_groups(&filter, after.as_ref(), limit).await };
    Ok(Json(intake.in_turn(waiter, &bucket, count).await?.into()))
}

/// Dead letters by reason and last status.
#[derive(Serialize, ToSchema)]
#[schema(as = DeadLetterGroups)]
pub(crate) struct LetterGroups {
    items: Vec<LetterGroup>,
    /// Letters in further groups, which aren't listed.
    others: u64,
    /// The cursor of letters that weren't counted; null when all were.
    #[schema(required)]
    next: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = DeadLetterGroup)]
struct LetterGroup {
    reason: String,
    /// The last upstream status; null: no answer came.
    #[schema(required)]
    status: Option<u16>,
    letters: u64,
    first_died_at: String,
    last_died_at: String,
}

impl From<DeadGroups> for LetterGroups {
    fn from(DeadGroups { groups, others, next }: DeadGroups) -> Self {
        let items = groups.into_iter().map(LetterGroup::from).collect();
        Self { items, others, next: next.map(|next| next.to_string()) }
    }
}

impl From<DeadGroup> for LetterGroup {
    fn from(group: DeadGroup) -> Self {
        Self {
            reason: group.reason,
            status: group.status,
            letters: group.letters,
            first_died_at: time::show(group.first_ms),
            last_died_at: time::show(group.last_ms),
        }
    }
}
