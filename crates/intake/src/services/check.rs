//! `POST /v1/services/{s}/check`: checks a request against a service's rate limits.

use std::collections::BTreeMap;
use std::net::IpAddr;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use dripfeed_auth::{LimitedCaller, Submit};
use dripfeed_http::limits::MOST_BYTES;
use dripfeed_job::rate::MAX_EXACT_INTEGER;
use dripfeed_limit::{Decision, Request};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::openapi::verdict::Verdict;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::ServiceAccess;
use crate::request::body::{self, Sender};
use crate::request::client_ip::ClientIp;
use crate::request::json;
use crate::request::pagination::{NoParams, Params};
use crate::settings::IntakeSettings;

/// Maximum number of headers, as over gRPC.
const MOST_HEADERS: usize = 128;

/// Checks a request against the rate limits of a service, and charges it if it is allowed.
#[utoipa::path(
    post, path = "/v1/services/{service}/check", tag = "services",
    operation_id = "check_request",
    params(parameters::Service), request_body = Check,
    responses(
        (status = 200, description = "Allowed, and charged", body = Verdict, headers(
            ("RateLimit-Policy" = String, description = "The limits that apply"),
            ("RateLimit" = String, description = "The remaining quota"),
        )),
        (status = 429, description = "Refused, and not charged", body = Verdict, headers(
            ("Retry-After" = u64, description = "Seconds; omitted if a retry can't succeed"),
        )),
        responses::OfCheck,
    )
)]
pub(crate) async fn check(
    State(intake): State<Intake>,
    ServiceAccess { caller, service, .. }: ServiceAccess<Submit>,
    _: Params<NoParams>,
    ClientIp(address): ClientIp,
    body: Body,
) -> Result<Response, Problem> {
    let body = body::read(Sender { caller: &caller, address }, body, &intake).await?;
    let read = |body: &Bytes| {
        let check: Check = json::read(body)?;
        check.check_size()?;
        let headers = check.headers()?;
        Ok((check, headers))
    };
    let (check, headers) = body::parse(body, read).await?;
    let request = check.request(&headers, caller.id())?;
    let _turn = intake.submissions().take_one(LimitedCaller::new(caller.id(), address)).await;
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

/// A request to check. Requests that omit a member share one counter for it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    #[serde(default)]
    method: String,
    /// With or without the query, which is ignored. A path with the segments `.` or `..`, also percent-encoded, is
    /// refused with 422: resolve it first.
    #[serde(default)]
    path: String,
    /// By name; only those that rate limits use as keys are needed.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The caller. By default the key's id.
    caller: Option<String>,
    /// By default from the path, otherwise the caller.
    tenant: Option<String>,
    /// The client's IPv4 or IPv6 address.
    #[schema(value_type = Option<String>, format = Ipv4)]
    ip: Option<IpAddr>,
    /// Overrides the policies' cost; 0 checks without charging.
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    cost: Option<u64>,
}

impl Check {
    fn request<'r>(&'r self, headers: &'r HeaderMap, key_id: Option<&'r str>) -> Result<Request<'r>, Problem> {
        if self.cost.is_some_and(|cost| cost >= MAX_EXACT_INTEGER) {
            return Err(Problem::bad_member("cost", "use a whole number below 2^53"));
        }
        let request = Request {
            method: &self.method,
            path: &self.path,
            headers: Some(headers),
            caller: self.caller.as_deref().or(key_id),
            tenant: self.tenant.as_deref(),
            ip: self.ip,
            body: None,
            cost: self.cost,
        };
        request.check_path().map_err(|error| Problem::bad_member("path", &error.to_string()))?;
        Ok(request)
    }

    /// Refuses a request larger than the head of a proxied request, because each policy reads and hashes its key.
    fn check_size(&self) -> Result<(), Problem> {
        let others = [Some(&self.method), Some(&self.path), self.caller.as_ref(), self.tenant.as_ref()];
        let in_headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        let in_others: usize = others.into_iter().flatten().map(String::len).sum();
        if in_headers + in_others <= MOST_BYTES {
            return Ok(());
        }
        let largest = if in_headers > in_others { "headers" } else { "path" };
        let reason = format!("method, path, caller, tenant and headers have at most {MOST_BYTES} bytes together");
        Err(Problem::bad_member(largest, &reason))
    }

    fn headers(&self) -> Result<HeaderMap, Problem> {
        if self.headers.len() > MOST_HEADERS {
            return Err(Problem::bad_member(
                "headers",
                &format!("more than {MOST_HEADERS}; send only those that rate limits use as keys"),
            ));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let bad = |reason| Problem::bad_member(&format!("headers.{name}"), reason);
            let header: HeaderName = name.parse().map_err(|_| bad("not a valid header name"))?;
            let value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| bad("not a valid header value"))?;
            if headers.insert(header, value).is_some() {
                return Err(bad("given twice; case doesn't matter in names"));
            }
        }
        Ok(headers)
    }
}
