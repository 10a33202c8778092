#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use super::*;

#[test]
fn headers_of_a_connection_or_of_dripfeed_are_refused() {
    for name in [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "TE",
        "Upgrade",
        "Proxy-Authorization",
        "Expect",
        "keep-alive",
    ] {
        assert!(matches!(ForwardHeaders::default().push(name, "v"), Err(BadForward::Connection(_))), "{name}");
    }
    for name in ["Dripfeed-Job-Id", "Idempotency-Key", "webhook-id", "traceparent"] {
        assert!(matches!(ForwardHeaders::default().push(name, "v"), Err(BadForward::Own(_))), "{name}");
    }
    assert!(matches!(ForwardHeaders::default().push("", "v"), Err(BadForward::Name(_))));
    for value in ["a\r\nX: b", "a\0", "\n"] {
        assert!(matches!(ForwardHeaders::default().push("X-A", value), Err(BadForward::Value(_))), "{value:?}");
    }
}

#[test]
fn the_sixty_fifth_header_is_refused() {
    let mut headers = ForwardHeaders::default();
    for n in 0..64 {
        headers.push(&format!("x-{n}"), "v").unwrap();
    }
    assert_eq!(headers.push("x-64", "v"), Err(BadForward::TooMany));
    assert_eq!(headers.iter().count(), 64);
}

#[test]
fn headers_beyond_the_maximum_bytes_are_refused() {
    let mut headers = ForwardHeaders::default();
    let long = "v".repeat(8 * 1024 - 1);
    headers.push("a", &long).unwrap();
    headers.push("b", &long).unwrap();
    assert_eq!(headers.push("c", ""), Err(BadForward::TooMany));
    headers.remove(&HeaderName::from_static("a"));
    headers.push("c", &long).unwrap();
    let kept: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(kept, ["b", "c"]);
}

#[test]
fn no_caller_says_where_a_call_comes_from() {
    let mut request = HeaderMap::new();
    for name in ["x-forwarded-for", "forwarded", "x-real-ip"] {
        let refused = ForwardHeaders::default().push(name, "192.0.2.1");
        assert_eq!(refused, Err(BadForward::ClientAddress(name.to_owned())));
        request.insert(name, HeaderValue::from_static("192.0.2.1"));
    }
    let forwarded = |address| ForwardHeaders::of_request(&request, address).unwrap();
    assert_eq!(forwarded(ClientAddress::Dropped), ForwardHeaders::default());
    let opted_in = forwarded(ClientAddress::Forwarded);
    assert_eq!(opted_in.iter().count(), 3);
    assert_eq!(ForwardHeaders::from_field(&opted_in.to_field()), Some(opted_in));
}

#[test]
fn a_proxied_request_leaves_its_connection_behind() {
    let mut request = HeaderMap::new();
    for (name, value) in [
        ("host", "h"),
        ("connection", "close, X-Hop"),
        ("x-hop", "1"),
        ("x-kept", "2"),
        ("accept", "*/*"),
        ("dripfeed-key", "k"),
    ] {
        request.insert(name, HeaderValue::from_static(value));
    }
    let kept: Vec<_> = ForwardHeaders::of_request(&request, ClientAddress::Dropped)
        .unwrap()
        .iter()
        .map(|(name, _)| name.to_string())
        .collect();
    assert_eq!(kept, ["x-kept", "accept"]);
}

#[test]
fn preferences_that_are_for_the_upstream_go_there() {
    let of = |values: &[&'static str]| {
        let mut request = HeaderMap::new();
        for value in values {
            request.append(PREFER, HeaderValue::from_static(value));
        }
        let headers = ForwardHeaders::of_request(&request, ClientAddress::Dropped).unwrap();
        assert_eq!(ForwardHeaders::from_field(&headers.to_field()).as_ref(), Some(&headers));
        headers.to_field()
    };
    assert_eq!(of(&["wait=10"]), "");
    assert_eq!(of(&["wait=10", "return=minimal"]), r#"[["prefer","return=minimal"]]"#);
    assert_eq!(of(&["return=minimal, wait=10"]), r#"[["prefer","return=minimal"]]"#);
}

#[test]
fn a_proxied_header_keeps_its_utf_8_and_other_bytes_are_refused() {
    let of = |value: &[u8]| {
        let request = HeaderMap::from_iter([(header::CONTENT_DISPOSITION, HeaderValue::from_bytes(value).unwrap())]);
        ForwardHeaders::of_request(&request, ClientAddress::Dropped).map(|headers| headers.to_field())
    };
    assert_eq!(of("größe".as_bytes()), Ok("[[\"content-disposition\",\"größe\"]]".to_owned()));
    assert_eq!(of(b"gr\xf6\xdfe"), Err(BadForward::Value("content-disposition".to_owned())));
}

#[test]
fn a_field_reads_back() {
    let mut headers = ForwardHeaders::default();
    headers.push("X-A", "1 \"2\"").unwrap();
    headers.push("x-a", "3").unwrap();
    headers.push("content-disposition", "attachment; filename=\"größe.pdf\"").unwrap();
    assert!(headers.to_field().contains("größe"));
    assert_eq!(ForwardHeaders::from_field(&headers.to_field()), Some(headers));
    assert_eq!(ForwardHeaders::from_field(""), Some(ForwardHeaders::default()));
    assert_eq!(ForwardHeaders::from_field("{}"), None);
    assert_eq!(ForwardHeaders::from_field("[[\"host\",\"x\"]]"), None);
}

#[test]
fn the_session_of_the_dashboard_stays_here() {
    let of = |cookies: &[&'static str]| {
        let mut request = HeaderMap::new();
        for cookie in cookies {
            request.append(header::COOKIE, HeaderValue::from_str(cookie).unwrap());
        }
        ForwardHeaders::of_request(&request, ClientAddress::Dropped).unwrap().to_field()
    };
    assert_eq!(of(&["a=1; dripfeed_00c0ffee=secret;b=2"]), r#"[["cookie","a=1; b=2"]]"#);
    assert_eq!(of(&["__Host-dripfeed_00c0ffee=secret", "a=dripfeed_1"]), r#"[["cookie","a=dripfeed_1"]]"#);
    assert_eq!(of(&["dripfeed_00c0ffee=secret"]), "");
    assert_eq!(of(&["a=ü; dripfeed_00c0ffee=secret"]), r#"[["cookie","a=ü"]]"#);
}
