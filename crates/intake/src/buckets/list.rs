//! `GET /v1/buckets`.

use axum::Json;
use axum::extract::State;
use dripfeed_auth::Read;
use dripfeed_bucket::Bucket;
use dripfeed_job::BucketName;
use futures::{StreamExt as _, stream};
use serde::Serialize;
use utoipa::ToSchema;

use crate::buckets::state::{BucketState, READ_AT_ONCE};
use crate::intake::Intake;
use crate::openapi::responses;
use crate::problem::{Problem, ProblemDocument};
use crate::request::access::Allowed;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::List;

/// Lists the buckets that the caller may access. A bucket whose state can't be read is listed with an error.
#[utoipa::path(
    get, path = "/v1/buckets", tag = "buckets",
    operation_id = "list_buckets",
    responses((status = 200, description = "All buckets", body = List<ListedBucket>), responses::OfAll)
)]
pub(crate) async fn buckets(
    State(intake): State<Intake>,
    Allowed { caller, .. }: Allowed<Read>,
    ClientIp(address): ClientIp,
) -> Result<Json<List<ListedBucket>>, Problem> {
    let _turn = intake.lookup_turn(&caller, address).await;
    let theirs = intake.buckets().among(|name| caller.may_use(name));
    let items: Vec<_> = stream::iter(theirs).map(ListedBucket::of).buffered(READ_AT_ONCE).collect().await;
    // When no state can be read, the cause isn't a single bucket.
    if let Some(ListedBucket::Unavailable(first)) = items.first()
        && items.iter().all(|item| matches!(item, ListedBucket::Unavailable(_)))
    {
        return Err(first.error.clone());
    }
    Ok(Json(List { items, next: None }))
}

/// A bucket in a list.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ListedBucket {
    State(Box<BucketState>),
    Unavailable(UnavailableBucket),
}

impl ListedBucket {
    async fn of(bucket: Bucket) -> Self {
        match BucketState::of(&bucket).await {
            Ok(state) => Self::State(Box::new(state)),
            Err(error) => {
                let kind = bucket.settings().kind.as_str();
                Self::Unavailable(UnavailableBucket { name: bucket.name().clone(), kind, error: error.of_read() })
            }
        }
    }
}

/// A bucket whose state can't be read, for example while its slot moves to another node.
#[derive(Serialize, ToSchema)]
pub(crate) struct UnavailableBucket {
    #[schema(value_type = String)]
    name: BucketName,
    /// `stream` or `list`.
    kind: &'static str,
    /// The cause.
    #[schema(value_type = ProblemDocument<'static>)]
    error: Problem,
}
