//! `PUT /v1/buckets/{b}`: defines a bucket.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use dripfeed_auth::Define;
use dripfeed_bucket::{
    Bucket, BucketSettings, Definition, DefinitionBounds, NewDefinition, Opened, PutDefinition, place_is_taken,
};
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

use super::definitions::Definitions;
use super::version::IfMatch;
use super::{audit, shown};
use crate::buckets::define::body::BucketDefinition;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::NewBucketAccess;
use crate::request::{body, json};

/// How often a change is tried again that meets another one.
const TRIES: usize = 10;

/// Creates a bucket, or replaces its definition. It holds at this intake at once, and everywhere within a second; jobs
/// can be submitted at every intake from the answer on. A bucket that is created has nothing of a deleted one of its
/// name.
#[utoipa::path(
    put, path = "/v1/buckets/{bucket}", tag = "buckets", params(parameters::Bucket, parameters::IfMatch),
    request_body = BucketDefinition,
    responses(
        (status = 200, description = "The changed bucket", body = shown::ShownBucket),
        (status = 201, description = "The created bucket", body = shown::ShownBucket),
        responses::OfDefinition
    )
)]
pub(crate) async fn put(
    State(intake): State<Intake>,
    NewBucketAccess { caller, name, definitions, .. }: NewBucketAccess<Define>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let if_match = IfMatch::of(&headers)?;
    let body = body::read(body, &intake).await?;
    if body.len() > DefinitionBounds::ONE {
        let detail = format!("a definition may have {} bytes", DefinitionBounds::ONE);
        return Err(Problem::new(Code::BodyTooLarge, detail));
    }
    let definition = body::parse(body, |body| json::read::<serde_json::Map<String, Value>>(body)).await?;
    let definition = Value::Object(definition);
    let settings = definitions.read(&name, &definition).map_err(Problem::definition)?;
    if definitions.has_private_address(&name, &definition).await {
        let detail = "upstream: the host has a private address: use a public one";
        return Err(Problem::bad_member("upstream", detail));
    }
    let new = NewDefinition {
        bucket: &name,
        known: None,
        capacity_bytes: settings.capacity_bytes,
        by: caller.id(),
        definition: &definition,
    };
    let (before, bucket) = define_and_open(&intake, &*definitions, &new, &settings, &if_match).await?;
    audit::defined(&bucket, &caller, before.as_ref().map(|before| &before.definition), &definition).await;
    let mut response = shown::show(&bucket, &caller, definitions.get(name.as_str()).as_deref()).await?;
    if before.is_none() {
        *response.status_mut() = StatusCode::CREATED;
        let location = format!("/v1/buckets/{name}").parse();
        response.headers_mut().extend(location.ok().map(|location| (header::LOCATION, location)));
    }
    Ok(response)
}

/// The definition before, and the bucket, which is open for everybody from now on.
async fn define_and_open(
    intake: &Intake,
    definitions: &dyn Definitions,
    new: &NewDefinition<'_>,
    settings: &BucketSettings,
    if_match: &IfMatch,
) -> Result<(Option<Definition>, Bucket), Problem> {
    for _ in 0..TRIES {
        let before = define(intake, definitions, new, settings, if_match).await?;
        definitions.follow().await?;
        let Some(bucket) = intake.buckets().get(new.bucket.as_str()) else { continue };
        match bucket.open().await? {
            Opened::Open => return Ok((before, bucket)),
            // Who deleted it was stopped before the end: that comes first.
            Opened::Closed => {
                if let Some(closed) = definitions.get(new.bucket.as_str()) {
                    closed.delete(intake.redis().store()).await?;
                }
            }
            // Another one was created meanwhile.
            Opened::Gone => {}
        }
    }
    Err(contended())
}

/// Stores the definition; the one before.
async fn define(
    intake: &Intake,
    definitions: &dyn Definitions,
    new: &NewDefinition<'_>,
    settings: &BucketSettings,
    if_match: &IfMatch,
) -> Result<Option<Definition>, Problem> {
    let store = intake.redis().store();
    for _ in 0..TRIES {
        definitions.follow().await?;
        let known = definitions.get(new.bucket.as_str());
        if_match.check(known.as_deref())?;
        match &known {
            Some(known) => check_kind(definitions, known, settings)?,
            None if place_is_taken(store, new.bucket).await? => return Err(not_empty()),
            None => {}
        }
        let version = known.as_ref().map(|known| known.version);
        match (NewDefinition { known: version, ..new.clone() }).put(store, definitions.bounds()).await? {
            PutDefinition::Done { .. } => return Ok(known.map(|known| Definition::clone(&known))),
            PutDefinition::Changed => {}
            full => return Err(too_many(full)),
        }
    }
    Err(contended())
}

/// Each time there was another change.
fn contended() -> Problem {
    Problem::new(Code::StoreUnavailable, "the definition changes all the time; retry later")
}

/// Its jobs would be at another place.
fn check_kind(definitions: &dyn Definitions, known: &Definition, settings: &BucketSettings) -> Result<(), Problem> {
    let before = definitions.read(&known.bucket, &known.definition).map(|before| before.kind);
    match before {
        Ok(kind) if kind != settings.kind => {
            let detail = format!("kind: the bucket is a {}: delete it first", kind.as_str());
            Err(Problem::bad_member("kind", &detail))
        }
        _ => Ok(()),
    }
}

fn not_empty() -> Problem {
    let detail = "jobs or dead letters of an earlier bucket of this name are there: drain it, or use another name";
    Problem::new(Code::BucketNotEmpty, detail)
}

fn too_many(full: PutDefinition) -> Problem {
    let detail = match full {
        PutDefinition::ManyBuckets => "define.most buckets are defined: delete some first",
        PutDefinition::ManyBytes => "the capacity_bytes of all defined buckets would exceed define.bytes",
        _ => "all definitions together are too long",
    };
    Problem::new(Code::ManyBuckets, detail)
}
