#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use super::*;

pub(crate) fn settings(url: &str) -> UpstreamSettings {
    UpstreamSettings {
        url: url.to_owned(),
        method: Method::POST,
        timeout: Duration::from_secs(5),
        connect_timeout: Duration::from_secs(2),
        headers: Vec::new(),
        signing_secrets: Vec::new(),
        allow_private: true,
        root_certs: RootCerts::default(),
        max_answer: 1 << 20,
    }
}

fn broken(url: &str) -> String {
    let public_only = UpstreamSettings { allow_private: false, ..settings(url) };
    Upstream::new(public_only).map(|_| "taken".to_owned()).unwrap_or_else(|error| error.to_string())
}

#[test]
fn a_url_names_a_scheme_and_a_host_and_nothing_secret() {
    for (url, says) in [
        ("https://api.example/feed", "taken"),
        ("", "not a URL"),
        ("api.example/feed", "not a URL"),
        ("/feed", "must begin with http"),
        ("ftp://api.example", "must begin with http"),
        ("http://user:secret@api.example/", "credentials"),
        ("http://api.example/#here", "fragment"),
    ] {
        assert!(broken(url).contains(says), "{url}: {}", broken(url));
    }
}

#[test]
fn a_private_address_is_refused_unless_allowed() {
    for url in ["http://127.0.0.1:9000/", "http://[::1]/", "http://169.254.169.254/", "http://[::ffff:10.0.0.1]/"] {
        assert!(broken(url).contains("private address"), "{url}");
        assert!(Upstream::new(settings(url)).is_ok(), "{url}");
    }
}

#[test]
fn what_can_never_work_is_refused() {
    let slow = UpstreamSettings { timeout: Duration::ZERO, ..settings("http://h/") };
    assert!(matches!(faults(slow)[..], [UpstreamFault::NoTime("timeout")]));
    let tunnel = UpstreamSettings { method: Method::CONNECT, ..settings("http://h/") };
    assert!(matches!(faults(tunnel)[..], [UpstreamFault::Method(_)]));
    // Calls would go to the port of the scheme, with the credentials of the upstream.
    for url in ["http://h:99999/", "https://h:0/", "http://h:80x/", "http://h:/"] {
        assert!(matches!(faults(settings(url))[..], [UpstreamFault::Port]), "{url}");
    }
    for name in ["Host", "Content-Length", "Dripfeed-Job-Id", "a b"] {
        let headers = vec![(name.to_owned(), SecretString::from("v"))];
        let faults = faults(UpstreamSettings { headers, ..settings("http://h/") });
        assert!(matches!(faults[..], [UpstreamFault::Header(_)]));
    }
}

fn faults(settings: UpstreamSettings) -> Vec<UpstreamFault> {
    Upstream::new(settings).unwrap_err().into_faults()
}

#[test]
fn all_that_is_wrong_is_reported_together() {
    let header = |name: &str| (name.to_owned(), SecretString::from("v"));
    let wrong = UpstreamSettings {
        method: Method::TRACE,
        timeout: Duration::ZERO,
        connect_timeout: Duration::ZERO,
        headers: vec![header("Host"), header("Fine"), header("a b")],
        allow_private: false,
        ..settings("http://user@127.0.0.1/#here")
    };
    let bad = Upstream::new(wrong).unwrap_err().to_string();
    let begins = [
        "the URL has a user or password",
        "the URL has a fragment",
        "the host 127.0.0.1 has a private address",
        "the method TRACE",
        "`timeout` is zero",
        "`connect_timeout` is zero",
        "`Host` is a connection header",
        "`a b` is not a valid header name",
    ];
    assert_eq!(bad.lines().count(), begins.len(), "{bad}");
    assert!(bad.lines().zip(begins).all(|(line, begin)| line.starts_with(begin)), "{bad}");
}

#[test]
fn secrets_are_not_shown() {
    let headers = vec![("Authorization".to_owned(), SecretString::from("Bearer canary"))];
    let upstream = Upstream::new(UpstreamSettings { headers, ..settings("http://h/p?key=canary") }).unwrap();
    let shown = format!("{upstream:?} {:?}", upstream.headers());
    assert!(!shown.contains("canary"), "{shown}");
}
