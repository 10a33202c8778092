//! From a job to the request that its upstream gets.

use bytes::Bytes;
use dripfeed_job::path::UpstreamPath;
use dripfeed_job::{BucketName, Job};
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::uri::{PathAndQuery, Uri};
use http::{HeaderMap, HeaderName, HeaderValue, Request};
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

/// What no request can carry. Jobs that came through the intake never have it; an entry added by hand may.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("the job's {0} can't stand in a request")]
pub(crate) struct Unsendable(&'static str);

/// Builds the request for one attempt, counted from 1, that is made `now`.
pub(crate) fn build(
    job: &Job,
    attempt: u32,
    bucket: &BucketName,
    upstream: &Upstream,
    now: Timestamp,
) -> Result<Request<Full<Bytes>>, Unsendable> {
    let mut headers = headers(job, attempt, bucket, upstream)?;
    if !upstream.signing_secrets().is_empty() {
        let id = webhook_id(bucket, job.id);
        sign(&mut headers, upstream.signing_secrets(), &id, now.as_second(), &job.body).ok_or(Unsendable("id"))?;
    }
    let mut request = Request::new(Full::new(job.body.clone()));
    *request.method_mut() = job.method.as_ref().unwrap_or(upstream.method()).clone();
    *request.uri_mut() = join(upstream.url(), job.path.as_ref()).ok_or(Unsendable("path"))?;
    *request.headers_mut() = headers;
    Ok(request)
}

/// What the job brings, then what the upstream is configured with, then our own: the later wins.
fn headers(job: &Job, attempt: u32, bucket: &BucketName, upstream: &Upstream) -> Result<HeaderMap, Unsendable> {
    let mut headers = HeaderMap::with_capacity(16);
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
    let value = |text: &str, what| HeaderValue::from_str(text).map_err(|_| Unsendable(what));
    if let Some(content_type) = &job.content_type {
        headers.insert(CONTENT_TYPE, value(content_type, "content type")?);
    }
    if let Some(traceparent) = &job.traceparent {
        headers.insert(TRACEPARENT, value(traceparent, "traceparent")?);
    }
    headers.insert(JOB_ID, value(&job.id.to_string(), "id")?);
    headers.insert(BUCKET, value(bucket.as_str(), "bucket")?);
    headers.insert(ATTEMPT, HeaderValue::from(attempt));
    headers.insert(IDEMPOTENCY_KEY, value(&format!("{bucket}/{}", job.id), "id")?);
    Ok(headers)
}

/// The upstream's url with the job's path appended by exactly one slash, and both queries, the upstream's first.
fn join(url: &Uri, path: Option<&UpstreamPath>) -> Option<Uri> {
    let Some(path) = path.map(UpstreamPath::as_str).filter(|path| !path.is_empty()) else { return Some(url.clone()) };
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let base = if path.is_empty() { url.path() } else { url.path().trim_end_matches('/') };
    let queries: Vec<&str> = url.query().into_iter().chain(query).filter(|query| !query.is_empty()).collect();
    let mark = if queries.is_empty() { "" } else { "?" };
    let joined = format!("{base}{path}{mark}{}", queries.join("&"));

    let mut parts = url.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(joined).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::upstream::UpstreamSettings;
    use crate::upstream::tests::settings;
    use dripfeed_job::{Submission, entry};
    use secrecy::SecretString;

    fn job(submission: &Submission) -> Job {
        let values = entry::encode(submission);
        let fields: Vec<(Bytes, Bytes)> = entry::FIELDS
            .iter()
            .zip(&values)
            .map(|(name, value)| (Bytes::from_static(name.as_bytes()), Bytes::copy_from_slice(value.as_bytes())))
            .collect();
        entry::decode("1700000000000-0".parse().unwrap(), &fields).unwrap()
    }

    fn built(submission: &Submission, upstream: UpstreamSettings) -> Request<Full<Bytes>> {
        let upstream = Upstream::new(upstream).unwrap();
        build(&job(submission), 3, &"tigerfeeding".parse().unwrap(), &upstream, Timestamp::now()).unwrap()
    }

    #[test]
    fn paths_join_with_one_slash_and_queries_merge() {
        for (url, path, joined) in [
            ("http://h/feed", "", "http://h/feed"),
            ("http://h", "", "http://h/"),
            ("http://h", "/a", "http://h/a"),
            ("http://h/feed", "/a/b", "http://h/feed/a/b"),
            ("http://h/feed/", "/a/b", "http://h/feed/a/b"),
            ("http://h/feed", "/", "http://h/feed/"),
            ("http://h/feed", "?x=1", "http://h/feed?x=1"),
            ("http://h/feed?k=v", "", "http://h/feed?k=v"),
            ("http://h/feed?k=v", "/a?x=1&y=?", "http://h/feed/a?k=v&x=1&y=?"),
            ("http://h/feed?k=v", "/a", "http://h/feed/a?k=v"),
            ("https://h:8443/feed", "/a%20b?", "https://h:8443/feed/a%20b"),
        ] {
            let path = UpstreamPath::parse(path).unwrap();
            assert_eq!(join(&url.parse().unwrap(), Some(&path)).unwrap().to_string(), joined, "{url} + {path}");
        }
    }

    #[test]
    fn every_path_that_is_taken_can_be_sent() {
        let letters: String = ('!'..='~').filter(|c| UpstreamPath::parse(&format!("/{c}41")).is_ok()).collect();
        let path = UpstreamPath::parse(&format!("/{}?{}", letters.replace(['?', '%'], ""), letters.replace('%', "")));
        assert!(join(&Uri::from_static("http://h/feed"), Some(&path.unwrap())).is_some());
    }

    #[test]
    fn the_upstream_gets_the_job_as_sent_and_who_sends_it() {
        let submission = Submission {
            body: Bytes::from_static(b"{}"),
            content_type: Some("application/json".to_owned()),
            traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
            ..Submission::default()
        };
        let request = built(&submission, settings("http://h/feed"));
        let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(request.method(), "POST");
        assert_eq!(header("content-type").as_deref(), Some("application/json"));
        assert_eq!(header("traceparent"), submission.traceparent);
        assert_eq!(header("dripfeed-job-id").as_deref(), Some("1700000000000-0"));
        assert_eq!(header("dripfeed-bucket").as_deref(), Some("tigerfeeding"));
        assert_eq!(header("dripfeed-attempt").as_deref(), Some("3"));
        assert_eq!(header("idempotency-key").as_deref(), Some("tigerfeeding/1700000000000-0"));
        assert!(header("user-agent").unwrap().starts_with("dripfeed/"));
    }

    #[test]
    fn configured_headers_win_over_forwarded_ones() {
        let mut submission = Submission { method: Some(http::Method::PUT), ..Submission::default() };
        for (name, value) in [
            ("Authorization", "forwarded"),
            ("Authorization", "again"),
            ("Accept", "a"),
            ("Accept", "b"),
            ("User-Agent", "caller"),
        ] {
            submission.headers.push(name, value).unwrap();
        }
        let headers = vec![("authorization".to_owned(), SecretString::from("configured"))];
        let request = built(&submission, UpstreamSettings { headers, ..settings("http://h/feed") });
        let all = |name: &str| request.headers().get_all(name).iter().cloned().collect::<Vec<_>>();
        assert_eq!(all("authorization"), ["configured"]);
        assert_eq!(all("accept"), ["a", "b"]);
        assert_eq!(all("user-agent"), ["caller"]);
        assert_eq!(request.method(), "PUT");
    }

    #[test]
    fn a_call_is_signed_where_a_secret_is_configured() {
        let submission = Submission { body: Bytes::from_static(b"{}"), ..Submission::default() };
        let secrets = crate::upstream::signature::tests::secrets();
        let signing_secrets = secrets.iter().map(|secret| secret.parse().unwrap()).collect();
        let signed = built(&submission, UpstreamSettings { signing_secrets, ..settings("http://h/feed") });
        assert_eq!(signed.headers()["webhook-id"], "tigerfeeding/1700000000000-0");
        for secret in secrets {
            let upstream = standardwebhooks::Webhook::new(&secret).unwrap();
            assert!(upstream.verify(b"{}", signed.headers()).is_ok());
        }
        let unsigned = built(&submission, settings("http://h/feed"));
        assert!(unsigned.headers().keys().all(|name| !name.as_str().starts_with("webhook-")));
    }

    #[test]
    fn an_entry_by_hand_that_no_request_can_carry_says_why() {
        let mut job = job(&Submission::default());
        job.content_type = Some("text/plain\r\nX: y".to_owned());
        let upstream = Upstream::new(settings("http://h/feed")).unwrap();
        let error = build(&job, 1, &"b".parse().unwrap(), &upstream, Timestamp::now()).unwrap_err();
        assert_eq!(error.to_string(), "the job's content type can't stand in a request");
    }
}
