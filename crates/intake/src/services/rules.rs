//! `PUT`, `GET` and `DELETE /v1/services/{s}/rules`: the rate limits of a service.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use bytes::Bytes;
use dripfeed_auth::{Operate, Read};
use dripfeed_limit::{Rules, load};
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

use crate::buckets::audit;
use crate::intake::Intake;
use crate::openapi::rules::{PublishedDocument, RulesDocument};
use crate::openapi::{parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::ServiceAccess;
use crate::request::body::{self, Sender, Unused};
use crate::request::client_ip::ClientIp;
use crate::request::json;
use crate::request::pagination::{NoParams, Params};

/// Registers a service, or replaces all of its rules. They apply at this intake at once, and at all others within a
/// second. Policies with the same id keep their counters.
#[utoipa::path(
    put, path = "/v1/services/{service}/rules", tag = "services", params(parameters::Service),
    operation_id = "put_rules",
    request_body(
        content((RulesDocument = "application/json"), (PublishedDocument = "application/yaml")),
        description = "`policies`, or `slas`"
    ),
    responses((status = 200, description = "The current rules", body = RulesDocument), responses::OfRules)
)]
pub(crate) async fn put(
    State(intake): State<Intake>,
    ServiceAccess { service, caller, .. }: ServiceAccess<Operate>,
    _: Params<NoParams>,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let (body, is_yaml) = (body::read(Sender { caller: &caller, address }, body, &intake).await?, is_yaml(&headers));
    let rules = move |body: &Bytes| Ok(Rules::of(if is_yaml { yaml(body)? } else { json::read(body)? })?);
    let rules = body::parse(body, rules).await?;
    intake.services().put(&service, &rules).await?;
    audit::log_service(&service, &caller, "put rules");
    Ok(Json(rules.document().clone()))
}

/// Returns the rules of a service.
#[utoipa::path(
    get, path = "/v1/services/{service}/rules", tag = "services", params(parameters::Service),
    operation_id = "get_rules",
    responses((status = 200, description = "The current rules", body = RulesDocument), responses::OfService)
)]
pub(crate) async fn get(
    State(intake): State<Intake>,
    ServiceAccess { service, .. }: ServiceAccess<Read>,
    _: Params<NoParams>,
) -> Result<Json<Value>, Problem> {
    let rules = intake.services().rules(&service)?.ok_or_else(Problem::unknown_service)?;
    Ok(Json(rules.document().clone()))
}

/// Deletes a service and its rules.
#[utoipa::path(
    delete, path = "/v1/services/{service}/rules", tag = "services", params(parameters::Service),
    operation_id = "delete_rules",
    responses((status = 204, description = "Deleted"), responses::OfRulesDeletion)
)]
pub(crate) async fn delete(
    State(intake): State<Intake>,
    ServiceAccess { service, caller, .. }: ServiceAccess<Operate>,
    _: Params<NoParams>,
    _: Unused,
) -> Result<StatusCode, Problem> {
    if !intake.services().delete(&service).await? {
        return Err(Problem::unknown_service());
    }
    audit::log_service(&service, &caller, "delete rules");
    Ok(StatusCode::NO_CONTENT)
}

/// The media type of RFC 9512, and the names in use before it.
fn is_yaml(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml")
}

fn yaml(body: &[u8]) -> Result<Value, Problem> {
    let text = std::str::from_utf8(body).map_err(|error| Problem::new(Code::BadYaml, error.to_string()))?;
    load::parse_yaml(text).map_err(|error| Problem::faults(Code::BadYaml, &error))
}
