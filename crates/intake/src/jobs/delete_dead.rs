//! `DELETE …/dead`: deletes all dead letters that match.

use axum::Json;
use dripfeed_auth::Operate;
use serde::Serialize;
use utoipa::ToSchema;

use crate::buckets::audit;
use crate::jobs::dead_filter::described;
use crate::jobs::dead_letters::DeadLettersQuery;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::body::NoBody;
use crate::request::pagination::Params;

/// Deletes all matching dead letters permanently. At least one parameter is required.
#[utoipa::path(
    delete, path = "/v1/buckets/{bucket}/dead", tag = "dead letters", params(parameters::Bucket, DeadLettersQuery),
    operation_id = "delete_dead_letters",
    responses((status = 200, description = "Done", body = DeletionSummary), responses::OfBulkDeletion)
)]
pub(crate) async fn delete_many(
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    Params(query): Params<DeadLettersQuery>,
    _: NoBody,
) -> Result<Json<DeletionSummary>, Problem> {
    let filter = query.filter_of_deletion()?;
    let deleted = bucket.delete_dead_many(&filter).await;
    let which = described(&filter, None);
    audit::record_parts(&bucket, &caller, "delete", &deleted, |deleted| *deleted, "dead letter", Some(&which)).await;
    Ok(Json(DeletionSummary { deleted: deleted? }))
}

#[derive(Serialize, ToSchema)]
#[schema(as = Deleted)]
pub(crate) struct DeletionSummary {
    /// The number of deleted dead letters.
    deleted: u64,
}
