//! Builds the HTTP request of a job.

use bytes::Bytes;
use dripfeed_job::path::UpstreamPath;
use dripfeed_job::{BucketName, Job};
use dripfeed_trace::TraceContext;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, USER_AGENT};
use http::uri::{PathAndQuery, Uri};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request};
use http_body_util::Full;
use jiff::Timestamp;
use thiserror::Error;

use crate::upstream::Upstream;
use crate::upstream::signature::{sign, webhook_id};

const DRIPFEED: HeaderValue = HeaderValue::from_static(concat!("dripfeed/", env!("CARGO_PKG_VERSION")));

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const JOB_ID: HeaderName = HeaderName::from_static("dripfeed-job-id");
const BUCKET: HeaderName = HeaderName::from_static("dripfeed-bucket");
const ATTEMPT: HeaderName = HeaderName::from_static("dripfeed-attempt");

/// Enough for most requests without reallocation: dripfeed's headers, and a few of the caller and the upstream.
const COMMON_HEADERS: usize = 12;

/// A part of the job that no HTTP request can contain. Only an entry that was added to Redis by hand may have one.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("the job's {0} is not valid in a request")]
pub(crate) struct Unsendable(&'static str);

/// Builds the request for an attempt, counted from 1. `traced` is the span of the attempt; if it has none, the upstream
/// gets the `traceparent` of the caller.
pub(crate) fn build(
    job: &Job,
    attempt: u32,
    bucket: &BucketName,
    upstream: &Upstream,
    now: Timestamp,
    traced: Option<TraceContext>,
) -> Result<Request<Full<Bytes>>, Unsendable> {
    let mut headers = headers(job, attempt, bucket, upstream)?;
    if let Some(span) = traced {
        headers.insert(TRACEPARENT, value(&span.to_string(), "traceparent")?);
    }
    if !upstream.signing_secrets().is_empty() {
        let id = webhook_id(bucket, job.id);
        sign(&mut headers, upstream.signing_secrets(), &id, now.as_second(), &job.body).ok_or(Unsendable("id"))?;
    }
    let method = job.method.as_ref().unwrap_or(upstream.method());
    // Without Content-Length some servers answer 411 to a method that may have a body (RFC 9110, 8.6).
    if job.body.is_empty() && [Method::POST, Method::PUT, Method::PATCH].contains(method) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(0));
    }
    let mut request = Request::new(Full::new(job.body.clone()));
    *request.method_mut() = method.clone();
    *request.uri_mut() = join(upstream.url(), job.path.as_ref()).ok_or(Unsendable("path"))?;
    *request.headers_mut() = headers;
    Ok(request)
}

/// The headers of the job, those configured for the upstream, and dripfeed's own; the later ones override the earlier.
fn headers(job: &Job, attempt: u32, bucket: &BucketName, upstream: &Upstream) -> Result<HeaderMap, Unsendable> {
    let mut headers = HeaderMap::with_capacity(COMMON_HEADERS);
    for (name, value) in job.headers.iter() {
        headers.append(name.clone(), value.clone());
    }
    for name in upstream.headers().keys() {
        headers.remove(name);
    }
    for (name, value) in upstream.headers() {
        headers.append(name.clone(), value.clone());
    }
    headers.entry(USER_AGENT).or_insert(DRIPFEED);
    if let Some(content_type) = &job.content_type {
        headers.insert(CONTENT_TYPE, value(content_type, "content type")?);
    }
    if let Some(traceparent) = &job.traceparent {
        headers.insert(TRACEPARENT, value(traceparent, "traceparent")?);
    }
    headers.insert(ATTEMPT, HeaderValue::from(attempt));
    // The headers of bucket and job share the memory of the key, `BUCKET/JOB`.
    let key = Bytes::from(format!("{bucket}/{}", job.id));
    let shared = |bytes| HeaderValue::from_maybe_shared(bytes).map_err(|_| Unsendable("id"));
    headers.insert(BUCKET, shared(key.slice(..bucket.as_str().len()))?);
    headers.insert(JOB_ID, shared(key.slice(bucket.as_str().len() + 1..))?);
    headers.insert(IDEMPOTENCY_KEY, shared(key)?);
    Ok(headers)
}

fn value(text: &str, what: &'static str) -> Result<HeaderValue, Unsendable> {
    HeaderValue::from_str(text).map_err(|_| Unsendable(what))
}

/// The upstream's URL with the job's path appended by exactly one slash, and both queries, the upstream's first. An
/// empty query of the job stays, unless the upstream has a query.
fn join(url: &Uri, path: Option<&UpstreamPath>) -> Option<Uri> {
    let Some(path) = path.map(UpstreamPath::as_str).filter(|path| !path.is_empty()) else { return Some(url.clone()) };
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let base = if path.is_empty() { url.path() } else { url.path().trim_end_matches('/') };
    let joined = match (url.query().filter(|own| !own.is_empty()), query) {
        (None, None) => format!("{base}{path}"),
        (None, Some(query)) | (Some(query), None | Some("")) => format!("{base}{path}?{query}"),
        (Some(own), Some(query)) => format!("{base}{path}?{own}&{query}"),
    };

    let mut parts = url.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(joined).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests;
