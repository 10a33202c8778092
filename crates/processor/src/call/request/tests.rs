#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use super::*;
use crate::upstream::UpstreamSettings;
use crate::upstream::tests::settings;
use dripfeed_job::{Submission, entry};
use secrecy::SecretString;

fn job(submission: &Submission) -> Job {
    let fields: Vec<(Bytes, Bytes)> = entry::encode(submission)
        .fields()
        .map(|(name, value)| (Bytes::from_static(name.as_bytes()), Bytes::copy_from_slice(value)))
        .collect();
    entry::decode("1700000000000-0".parse().unwrap(), &fields).unwrap()
}

fn built(submission: &Submission, upstream: UpstreamSettings) -> Request<Full<Bytes>> {
    let upstream = Upstream::new(upstream).unwrap();
    build(&job(submission), 3, &"tigerfeeding".parse().unwrap(), &upstream, Timestamp::now(), None).unwrap()
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
        ("https://h:8443/feed", "/a%20b?", "https://h:8443/feed/a%20b?"),
        ("http://h/feed", "?", "http://h/feed?"),
        ("http://h/feed?", "/a", "http://h/feed/a"),
        ("http://h/feed?k=v", "/a?", "http://h/feed/a?k=v"),
    ] {
        let path = UpstreamPath::parse(path).unwrap();
        assert_eq!(join(&url.parse().unwrap(), Some(&path)).unwrap().to_string(), joined, "{url} + {path}");
    }
}

#[test]
fn every_path_that_is_taken_can_be_sent() {
    let letters: String = ('!'..='~').filter(|c| UpstreamPath::parse(&format!("/{c}41")).is_ok()).collect();
    let in_query: String = ('!'..='~').filter(|c| UpstreamPath::parse(&format!("/?{c}")).is_ok()).collect();
    let path = UpstreamPath::parse(&format!("/{}?{in_query}", letters.replace(['?', '%'], "")));
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
fn an_empty_body_has_a_length_where_its_method_has_a_body() {
    for (method, length) in [(Method::POST, true), (Method::PUT, true), (Method::PATCH, true), (Method::GET, false)] {
        let submission = Submission { method: Some(method.clone()), ..Submission::default() };
        let request = built(&submission, settings("http://h/feed"));
        assert_eq!(request.headers().get(CONTENT_LENGTH).is_some_and(|value| value == "0"), length, "{method}");
    }
}

#[test]
fn configured_headers_win_over_forwarded_ones() {
    let mut submission = Submission { method: Some(Method::PUT), ..Submission::default() };
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
    let error = build(&job, 1, &"b".parse().unwrap(), &upstream, Timestamp::now(), None).unwrap_err();
    assert_eq!(error.to_string(), "the job's content type is not valid in a request");
}
