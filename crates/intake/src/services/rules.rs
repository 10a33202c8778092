//! `PUT`, `GET` and `DELETE /v1/services/{s}/rules`: the rate limits of a service.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use dripfeed_auth::{Operate, Read};
use dripfeed_limit::{RegistryError, Rules, ServiceName, load};
use http::{HeaderMap, StatusCode, header};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::intake::Intake;
use crate::openapi::rules::{PublishedDocument, RulesDocument};
use crate::openapi::{parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::ServiceAccess;
use crate::request::body::{self, NoBody, Sender};
use crate::request::client_ip::ClientIp;
use crate::request::json;
use crate::request::pagination::{NoParams, Params};
use crate::request::preconditions::{Preconditions, e_tag};

/// How often a conditional change is tried while others change the same rules.
const TRIES: usize = 10;

const NOT_JSON: &str = "a JSON object begins with `{`; send YAML with Content-Type: application/yaml";

/// Registers a service, or replaces all of its rules. They apply at this intake at once, and at all others within a
/// second. Policies with the same id keep their counters.
#[utoipa::path(
    put, path = "/v1/services/{service}/rules", tag = "services",
    params(parameters::Service, parameters::IfMatch, parameters::IfNoneMatch),
    operation_id = "put_rules",
    request_body(
        content((RulesDocument = "application/json"), (PublishedDocument = "application/yaml")),
        description = "`policies`, or `slas`"
    ),
    responses(
        (status = 200, description = "The current rules", body = RulesDocument,
            headers(("ETag" = String, description = "Their version, for `If-Match`"))),
        responses::OfRules
    )
)]
pub(crate) async fn put(
    State(intake): State<Intake>,
    ServiceAccess { service, caller, .. }: ServiceAccess<Operate>,
    _: Params<NoParams>,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let preconditions = Preconditions::of(&headers)?;
    let (body, is_yaml) = (body::read(Sender { caller: &caller, address }, body, &intake).await?, is_yaml(&headers));
    let rules = move |body: &Bytes| Ok(Rules::of(if is_yaml { yaml(body)? } else { of_json(body)? })?);
    let rules = body::parse(body, rules).await?;
    // Changes of rules wait for a turn, so that they run one after the other.
    let _turn = intake.lookup_turn(&caller, address).await;
    store(&intake, &service, &rules, &preconditions, caller.id()).await?;
    Ok(answer(&rules))
}

async fn store(
    intake: &Intake,
    service: &ServiceName,
    rules: &Rules,
    preconditions: &Preconditions,
    by: Option<&str>,
) -> Result<(), Problem> {
    let services = intake.services();
    if preconditions.is_empty() {
        return Ok(services.put(service, rules, by).await?);
    }
    for _ in 0..TRIES {
        let known = services.current_rules(service).await?;
        preconditions.check("service", known.as_ref().map(|known| known.version()))?;
        if services.put_if_unchanged(service, known.as_deref(), rules, by).await? {
            return Ok(());
        }
    }
    Err(RegistryError::Contended.into())
}

/// The response, with the version of the rules.
fn answer(rules: &Rules) -> Response {
    ([e_tag(rules.version())], Json(rules.document())).into_response()
}

/// Returns the rules of a service.
#[utoipa::path(
    get, path = "/v1/services/{service}/rules", tag = "services", params(parameters::Service),
    operation_id = "get_rules",
    responses(
        (status = 200, description = "The current rules", body = RulesDocument,
            headers(("ETag" = String, description = "Their version, for `If-Match`"))),
        responses::OfService
    )
)]
pub(crate) async fn get(
    State(intake): State<Intake>,
    ServiceAccess { service, .. }: ServiceAccess<Read>,
    _: Params<NoParams>,
) -> Result<Response, Problem> {
    let rules = intake.services().rules(&service)?.ok_or_else(Problem::unknown_service)?;
    Ok(answer(&rules))
}

/// Deletes a service and its rules.
#[utoipa::path(
    delete, path = "/v1/services/{service}/rules", tag = "services", params(parameters::Service, parameters::IfMatch),
    operation_id = "delete_rules",
    responses((status = 204, description = "Deleted"), responses::OfRulesDeletion)
)]
pub(crate) async fn delete(
    State(intake): State<Intake>,
    ServiceAccess { service, caller, .. }: ServiceAccess<Operate>,
    _: Params<NoParams>,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
    _: NoBody,
) -> Result<StatusCode, Problem> {
    let preconditions = Preconditions::of(&headers)?;
    let _turn = intake.lookup_turn(&caller, address).await;
    remove(&intake, &service, &preconditions, caller.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn remove(
    intake: &Intake,
    service: &ServiceName,
    preconditions: &Preconditions,
    by: Option<&str>,
) -> Result<(), Problem> {
    let services = intake.services();
    if preconditions.is_empty() {
        return if services.delete(service, by).await? { Ok(()) } else { Err(Problem::unknown_service()) };
    }
    for _ in 0..TRIES {
        let known = services.current_rules(service).await?.ok_or_else(Problem::unknown_service)?;
        preconditions.check("service", Some(known.version()))?;
        if services.delete_if_unchanged(service, &known, by).await? {
            return Ok(());
        }
    }
    Err(RegistryError::Contended.into())
}

/// The media type of RFC 9512, and the names in use before it.
fn is_yaml(headers: &HeaderMap) -> bool {
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml")
}

fn of_json(body: &[u8]) -> Result<Value, Problem> {
    json::read(body).map_err(|problem| {
        let is_json = body.trim_ascii_start().starts_with(b"{") || serde_json::from_slice::<IgnoredAny>(body).is_ok();
        if is_json { problem } else { Problem::new(Code::BadJson, NOT_JSON) }
    })
}

fn yaml(body: &[u8]) -> Result<Value, Problem> {
    let text = std::str::from_utf8(body).map_err(|error| Problem::new(Code::BadYaml, error.to_string()))?;
    load::parse_yaml(text).map_err(|error| Problem::faults(Code::BadYaml, &error))
}
