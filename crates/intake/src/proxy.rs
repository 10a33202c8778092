//! `ANY …/proxy/…`: hands in this very request. Its method, path, query, headers and body go to the upstream as they
//! came.

use axum::body::Body;
use axum::extract::{OriginalUri, State};
use axum::response::Response;
use dripfeed_bucket::Origin;
use dripfeed_job::Submission;
use dripfeed_job::forward::ForwardHeaders;
use dripfeed_job::path::UpstreamPath;
use http::{HeaderMap, HeaderValue, Method, Uri, header};

use crate::address::Address;
use crate::admit::{admit, counted};
use crate::caller::{At, Caller, Submit};
use crate::intake::Intake;
use crate::options::{self, Taken};
use crate::prefer::Wait;
use crate::problem::{BadOption, Code, Problem};
use crate::receipt::Receipt;
use crate::{body, parameters, refusals, submit};

/// Hands in this very request: method, path, query, headers and body go to the upstream as they came.
#[utoipa::path(
    method(get, post, put, patch, delete, head, options), path = "/v1/buckets/{bucket}/proxy/{path}", tag = "jobs",
    params(parameters::Bucket, parameters::Options,
        ("path" = String, Path, description = "Path and query under the bucket's upstream")),
    request_body(content = body::Any, content_type = "*/*", description = "The payload, sent on as it is"),
    responses(
        (status = 202, description = "Admitted, and kept as `durability` says", body = Receipt,
            headers(("Location" = String, description = "The job"))),
        (status = 200, description = "The upstream's answer, which came within `Prefer: wait=…`",
            content_type = "*/*", body = body::Any),
        refusals::OfSubmission,
    )
)]
pub(crate) async fn proxy(
    State(intake): State<Intake>,
    At { caller, bucket, .. }: At<Submit>,
    method: Method,
    OriginalUri(uri): OriginalUri,
    Address(address): Address,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    if matches!(method, Method::CONNECT | Method::TRACE) {
        // They speak to the connection's other end, not to an upstream behind a queue.
        let allow = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
        let detail = format!("{method} can't be handed in as work");
        return Err(Problem::new(Code::MethodNotAllowed, detail).with([(header::ALLOW, allow)]));
    }
    let read = read(&intake, &caller, method, &uri, &headers, body).await;
    let submission = counted(&intake, bucket.name(), read)?;
    let wait = Wait::of(&headers);
    admit(&intake, &bucket, submission, Origin { headers, address }, wait).await
}

async fn read(
    intake: &Intake,
    caller: &Caller,
    method: Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: Body,
) -> Result<Submission, Problem> {
    let path = upstream_path(uri).map_err(|reason| bad("path", reason))?;
    let mut forward = ForwardHeaders::of_request(headers).map_err(|error| bad("headers", error.to_string()))?;
    if caller.authorization_is_ours {
        forward.remove(&header::AUTHORIZATION);
    }
    let mut submission = Submission {
        method: Some(method),
        path: Some(path),
        headers: forward,
        caller: caller.id().map(str::to_owned),
        content_type: submit::text(headers, &header::CONTENT_TYPE)?,
        ..Submission::default()
    };
    options::read(headers, Taken::MethodAndPath, &mut submission)?;
    submission.body = body::read(body, intake).await?;
    Ok(submission)
}

/// Taken from the request line as it came: what is percent-encoded stays so.
fn upstream_path(uri: &Uri) -> Result<UpstreamPath, String> {
    // "/v1/buckets/{bucket}/proxy{path}": five slashes, the last one is the path's own.
    let path = uri.path();
    let begins = path.match_indices('/').nth(4).map_or(path.len(), |(at, _)| at);
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    UpstreamPath::parse(&format!("{}{query}", &path[begins..])).map_err(|error| error.to_string())
}

fn bad(name: &str, reason: String) -> Problem {
    Problem::bad_options(vec![BadOption { name: name.to_owned(), reason }])
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn path(uri: &str) -> Option<String> {
        upstream_path(&uri.parse().unwrap()).ok().map(|path| path.to_string())
    }

    #[test]
    fn the_path_is_what_stands_behind_proxy() {
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
    fn a_path_that_climbs_out_is_refused() {
        for rest in ["/../x", "/%2e%2e/x", "//host/x", "/a@b", "/%5chost", "/a/.."] {
            assert_eq!(path(&format!("/v1/buckets/b/proxy{rest}")), None, "{rest}");
        }
    }
}
