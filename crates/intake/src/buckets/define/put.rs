//! `PUT /v1/buckets/{b}`: creates or changes a bucket.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use dripfeed_auth::Define;
use dripfeed_bucket::DefinitionBounds;
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

use super::wanted::{Wanted, contended};
use super::{audit, shown};
use crate::buckets::audit::unconfirmed::record_unconfirmed;
use crate::buckets::define::body::BucketDefinition;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::named_bucket::NewBucketAccess;
use crate::request::body::{self, Sender};
use crate::request::client_ip::ClientIp;
use crate::request::json;
use crate::request::pagination::{NoParams, Params};
use crate::request::preconditions::Preconditions;

/// Creates a bucket, or replaces its definition. The definition applies at this intake at once, and in all processes
/// within a second; every intake accepts jobs for the bucket as soon as this request is answered. A new bucket starts
/// empty, also if a bucket of the same name was deleted before. Settings changed at run time stay changed, and don't
/// count for `If-Match`.
#[utoipa::path(
    put, path = "/v1/buckets/{bucket}", tag = "buckets",
    params(parameters::Bucket, parameters::IfMatch, parameters::IfNoneMatch),
    request_body = BucketDefinition,
    responses(
        (status = 200, description = "The changed bucket", body = shown::ShownBucket,
            headers(("ETag" = String, description = "Its version, for `If-Match`"))),
        (status = 201, description = "The created bucket", body = shown::ShownBucket,
            headers(("ETag" = String, description = "Its version, for `If-Match`"))),
        responses::OfDefinition
    )
)]
pub(crate) async fn define_bucket(
    State(intake): State<Intake>,
    NewBucketAccess { caller, name, definitions, .. }: NewBucketAccess<Define>,
    _: Params<NoParams>,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let preconditions = Preconditions::of(&headers)?;
    let body = body::read(Sender { caller: &caller, address }, body, &intake).await?;
    if body.len() > DefinitionBounds::ONE {
        let detail = format!("a definition may have at most {} bytes", DefinitionBounds::ONE);
        return Err(Problem::new(Code::BodyTooLarge, detail));
    }
    let document = body::parse(body, |body| json::read::<serde_json::Map<String, Value>>(body)).await?;
    let document = Value::Object(document);
    let wanted = Wanted { name: &name, document: &document, caller: &caller, preconditions: &preconditions };
    let known = intake.buckets().get(name.as_str());
    let mut defined = wanted.define(&intake, &*definitions).await;
    if let Some(known) = known {
        defined = record_unconfirmed(&known, &caller, "define", "changed", defined).await;
    }
    let (before, after, bucket) = defined.map_err(unless_final)?;
    audit::defined(&bucket, &caller, before.as_ref(), &after).await;
    // With the version of this definition: with a later one, the caller could overwrite a change that it hasn't seen.
    let mut response = shown::show(&bucket, &caller, Some(&after)).await.map_err(unless_final)?;
    if before.is_none() {
        *response.status_mut() = StatusCode::CREATED;
        let location = format!("/v1/buckets/{name}").parse();
        response.headers_mut().extend(location.ok().map(|location| (header::LOCATION, location)));
    }
    Ok(response)
}

/// Converts "unknown bucket" into a retryable problem: the bucket was deleted meanwhile, and can be created again.
fn unless_final(problem: Problem) -> Problem {
    if problem.code() == Code::UnknownBucket { contended() } else { problem }
}
