//! `PUT`, `GET` and `DELETE /v1/services/{s}/rules`: the limits that a service registers for itself.

mod describe;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use dripfeed_limit::{Rules, load};
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

use self::describe::PublishedDocument;
pub(crate) use self::describe::{Document, Policy};
use crate::body::Unused;
use crate::caller::{For, Operate, Read};
use crate::intake::Intake;
use crate::problem::{Code, Problem};
use crate::{body, json, parameters, refusals};

/// Registers a service, or gives it other rules; whole or not at all. They hold here at once and everywhere within a second.
/// What was consumed under the same policy id stays consumed.
#[utoipa::path(
    put, path = "/v1/services/{service}/rules", tag = "services", params(parameters::Service),
    request_body(
        content((Document = "application/json"), (PublishedDocument = "application/yaml")),
        description = "`policies`; also `slas` as they are published"
    ),
    responses((status = 200, description = "The rules in force", body = Document), refusals::OfRules)
)]
pub(crate) async fn put(
    State(intake): State<Intake>,
    For { service, .. }: For<Operate>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let body = body::read(body, &intake).await?;
    let rules = Rules::of(if is_yaml(&headers) { yaml(&body)? } else { json::read(&body)? })?;
    intake.services().put(&service, &rules).await?;
    Ok(Json(rules.document().clone()))
}

/// Tells the rules of a service.
#[utoipa::path(
    get, path = "/v1/services/{service}/rules", tag = "services", params(parameters::Service),
    responses((status = 200, description = "The rules in force", body = Document), refusals::OfService)
)]
pub(crate) async fn get(State(intake): State<Intake>, For { service, .. }: For<Read>) -> Result<Json<Value>, Problem> {
    let rules = intake.services().rules(&service)?.ok_or_else(Problem::unknown_service)?;
    Ok(Json(rules.document().clone()))
}

/// Forgets the rules of a service, which is then unknown.
#[utoipa::path(
    delete, path = "/v1/services/{service}/rules", tag = "services", params(parameters::Service),
    responses((status = 204, description = "Forgotten"), refusals::OfForgetting)
)]
pub(crate) async fn delete(
    State(intake): State<Intake>,
    For { service, .. }: For<Operate>,
    _: Unused,
) -> Result<StatusCode, Problem> {
    match intake.services().delete(&service).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::unknown_service()),
    }
}

/// RFC 9512, and the names that were in use before it.
fn is_yaml(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml")
}

fn yaml(body: &[u8]) -> Result<Value, Problem> {
    let text = std::str::from_utf8(body).map_err(|error| Problem::new(Code::BadYaml, error.to_string()))?;
    load::parse_yaml(text).map_err(|error| Problem::faults(Code::BadYaml, &error))
}
