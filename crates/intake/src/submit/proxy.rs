//! `ANY …/proxy/…`: submits this request itself. Method, path, query, headers and body are forwarded unchanged.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{OriginalUri, State};
use axum::response::Response;
use dripfeed_auth::{Caller, Submit};
use dripfeed_bucket::Origin;
use dripfeed_job::Submission;
use dripfeed_job::forward::{ClientAddress, ForwardHeaders};
use dripfeed_job::path::UpstreamPath;
use http::{HeaderMap, HeaderValue, Method, Uri, header};

use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::{BadOption, Code, Problem};
use crate::request::access::BucketAccess;
use crate::request::body::{self, Sender};
use crate::request::client_ip::ClientIp;
use crate::submit::admit::{admit, count_problem};
use crate::submit::options::{self, OptionSource};
use crate::submit::priority::check_and_cap;
use crate::submit::receipt::Receipt;
use crate::submit::sync_wait::SyncWait;

/// Submits this request as a job: method, path, query, headers and body are forwarded unchanged.
#[utoipa::path(
    method(get, post, put, patch, delete, head, options), path = "/v1/buckets/{bucket}/proxy/{path}", tag = "jobs",
    params(parameters::Bucket, parameters::Options,
        ("path" = String, Path, description = "Path and query under the bucket's upstream")),
    request_body(
        content((body::Any = "application/json"), (body::Any = "*/*")),
        description = "The payload, of any media type, forwarded unchanged"
    ),
    responses(
        (status = 202, description = "Accepted, with the durability class in `durability`", body = Receipt,
            headers(("Location" = String, description = "The job"))),
        (status = 200, description = "The upstream's response, received within `Prefer: wait=…`",
            content_type = "*/*", body = body::Any, headers(
            ("Location" = String, description = "The job"),
            ("Idempotent-Replayed" = String, description = "`true`: a job with this idempotency key exists; no job was \
                added"),
            ("Preference-Applied" = String, description = "`wait=…`"),
        )),
        responses::OfProxied,
    )
)]
pub(crate) async fn proxy(
    State(intake): State<Intake>,
    BucketAccess { caller, bucket, .. }: BucketAccess<Submit>,
    method: Method,
    OriginalUri(uri): OriginalUri,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    if matches!(method, Method::CONNECT | Method::TRACE) {
        // These methods concern the connection to this server, so they can't be forwarded later.
        let allow = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
        let detail = format!("{method} can't be submitted as a job");
        return Err(Problem::new(Code::MethodNotAllowed, detail).with([(header::ALLOW, allow)]));
    }
    let request = Proxied { method, uri: &uri, headers: &headers, address };
    let read = read(&intake, &caller, request, bucket.settings().client_address, body).await;
    let read = read.and_then(|read| check_and_cap(&caller, &bucket, read));
    let submission = count_problem(&intake, bucket.name(), read)?;
    let wait = SyncWait::of(&headers).map(|wait| (wait, &caller));
    admit(&intake, &bucket, caller.id(), Box::new(submission), Arc::new(Origin { headers, address }), wait).await
}

/// The head of a request that is forwarded unchanged.
struct Proxied<'r> {
    method: Method,
    uri: &'r Uri,
    headers: &'r HeaderMap,
    address: Option<IpAddr>,
}

async fn read(
    intake: &Intake,
    caller: &Caller,
    Proxied { method, uri, headers, address }: Proxied<'_>,
    client_address: ClientAddress,
    body: Body,
) -> Result<Submission, Problem> {
    let path = upstream_path(uri).map_err(|reason| bad("path", reason))?;
    let forward = ForwardHeaders::of_request(headers, client_address);
    let mut forward = forward.map_err(|error| bad("headers", error.to_string()))?;
    if caller.authorization_is_ours {
        forward.remove(&header::AUTHORIZATION);
    }
    let mut submission = Submission {
        method: Some(method),
        path: Some(path),
        headers: forward,
        caller: caller.id().map(str::to_owned),
        content_type: options::payload_header(headers, &header::CONTENT_TYPE)?,
        ..Submission::default()
    };
    options::read(headers, OptionSource::ProxiedRequest, &mut submission)?;
    submission.body = body::read(Sender { caller, address }, body, intake).await?;
    Ok(submission)
}

/// The path and query after `/proxy`, as received: percent-encoding is kept.
fn upstream_path(uri: &Uri) -> Result<UpstreamPath, String> {
    // In "/v1/buckets/{bucket}/proxy{path}" the path begins with the fifth slash.
    let path = uri.path();
    let begin = path.match_indices('/').nth(4).map_or(path.len(), |(at, _)| at);
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    UpstreamPath::parse(&format!("{}{query}", &path[begin..])).map_err(|error| error.to_string())
}

fn bad(name: &str, reason: String) -> Problem {
    Problem::bad_options(vec![BadOption::new(name, reason)])
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn path(uri: &str) -> Option<String> {
        upstream_path(&uri.parse().unwrap()).ok().map(|path| path.to_string())
    }

    #[test]
    fn the_upstream_path_follows_proxy() {
        for (uri, kept) in [
            ("/v1/buckets/b/proxy", ""),
            ("/v1/buckets/b/proxy/", "/"),
            ("/v1/buckets/b/proxy?x=1", "?x=1"),
            ("/v1/buckets/b/proxy/a%2Fb%20c/d?x=%41&y", "/a%2Fb%20c/d?x=%41&y"),
            ("http://host/v1/buckets/b/proxy/a", "/a"),
            ("/v1/buckets/b/proxy/v1/proxy/x", "/v1/proxy/x"),
        ] {
            assert_eq!(path(uri).as_deref(), Some(kept), "{uri}");
        }
    }

    #[test]
    fn path_traversal_is_refused() {
        for rest in ["/../x", "/%2e%2e/x", "//host/x", "/a@b", "/%5chost", "/a/.."] {
            assert_eq!(path(&format!("/v1/buckets/b/proxy{rest}")), None, "{rest}");
        }
    }
}
