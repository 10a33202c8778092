//! `POST /v1/services/{s}/check`: may this request pass?

mod describe;

use std::collections::BTreeMap;
use std::net::IpAddr;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use dripfeed_job::rate::EXACT;
use dripfeed_limit::{Decision, Request};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use utoipa::ToSchema;

use self::describe::Verdict;
use crate::caller::{For, Submit};
use crate::intake::Intake;
use crate::problem::{Code, Place, Problem};
use crate::settings::IntakeSettings;
use crate::{body, json, parameters, refusals};

/// Asks whether a request to a service may pass, and charges it if so.
#[utoipa::path(
    post, path = "/v1/services/{service}/check", tag = "services",
    params(parameters::Service), request_body = Check,
    responses(
        (status = 200, description = "It may, and was charged", body = Verdict, headers(
            ("RateLimit-Policy" = String, description = "The limits in force"),
            ("RateLimit" = String, description = "What is left of them"),
        )),
        (status = 429, description = "It may not, and was charged to nothing", body = Verdict, headers(
            ("Retry-After" = u64, description = "Seconds, where waiting helps"),
        )),
        refusals::OfCheck,
    )
)]
pub(crate) async fn check(
    State(intake): State<Intake>,
    For { caller, service, .. }: For<Submit>,
    body: Body,
) -> Result<Response, Problem> {
    let body = body::read(body, &intake).await?;
    let check: Check = json::read(&body)?;
    let headers = check.headers()?;
    let request = check.request(&headers, caller.id())?;
    let decision = intake.services().check(&service, &request).await?.ok_or_else(Problem::unknown_service)?;
    Ok(answer(&decision, intake.settings()))
}

fn answer(decision: &Decision, settings: &IntakeSettings) -> Response {
    let status = if decision.allowed { StatusCode::OK } else { StatusCode::TOO_MANY_REQUESTS };
    let mut response = (status, Json(decision)).into_response();
    response.headers_mut().extend(decision.fields());
    if settings.x_ratelimit_headers {
        response.headers_mut().extend(decision.older_fields());
    }
    response
}

/// What is known of a request. What is left out counts as unknown: all such requests share a count.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    #[serde(default)]
    method: String,
    /// With or without its query, which doesn't count.
    #[serde(default)]
    path: String,
    /// By name; a limit sees those that it counts by.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Who sent it. By itself the key's id.
    caller: Option<String>,
    /// By itself what the path tells, else the caller.
    tenant: Option<String>,
    /// Where it came from: an IPv4 or IPv6 address.
    #[schema(value_type = Option<String>, format = Ipv4)]
    ip: Option<IpAddr>,
    /// In place of the policies' own; 0 asks without being charged.
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    cost: Option<u64>,
}

impl Check {
    fn request<'r>(&'r self, headers: &'r HeaderMap, key_id: Option<&'r str>) -> Result<Request<'r>, Problem> {
        if self.cost.is_some_and(|cost| cost >= EXACT) {
            return Err(bad_member("cost", "use a whole number below 2^53"));
        }
        Ok(Request {
            method: &self.method,
            path: &self.path,
            headers: Some(headers),
            caller: self.caller.as_deref().or(key_id),
            tenant: self.tenant.as_deref(),
            ip: self.ip,
            body: None,
            cost: self.cost,
        })
    }

    fn headers(&self) -> Result<HeaderMap, Problem> {
        let header = |(name, value): (&String, &String)| {
            let bad = |reason| bad_member(&format!("headers.{name}"), reason);
            let name: HeaderName = name.parse().map_err(|_| bad("this is no name of a header"))?;
            let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| bad("no header has this value"))?;
            Ok((name, value))
        };
        self.headers.iter().map(header).collect()
    }
}

fn bad_member(member: &str, reason: &str) -> Problem {
    let place = Place { member: Some(member.to_owned()), ..Place::default() };
    Problem::new(Code::BadMember, reason).at(place)
}
