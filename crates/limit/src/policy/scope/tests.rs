#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use http::{HeaderMap, HeaderValue};
use serde_json::json;

use super::*;

const PATH: &str = "/v1/organizations/acme/product/7";

fn matched() -> Match {
    Match::new(&["PUT"], Some("/v1/organizations/{org}/product/{id}")).unwrap()
}

/// What a part has, led by `!` where anybody may bring it.
fn name(part: &str, request: &Request<'_>, matched: &Match) -> String {
    let variables = matched.variables(request.method, request.path).unwrap();
    match part.parse::<KeyPart>().unwrap().of(request, matched, &variables) {
        KeyPartValue::Named(name) => name.into_owned(),
        KeyPartValue::Brought(value) => format!("!{value}"),
        KeyPartValue::Missing => MISSING.to_owned(),
    }
}

fn named(part: &str, request: &Request<'_>) -> String {
    name(part, request, &matched())
}

#[test]
fn each_part_reads_its_value() {
    let mut headers = HeaderMap::new();
    headers.insert("x-region", HeaderValue::from_static("eu"));
    let body = json!({ "order": { "shop": "s1", "lines": [1, 2], "none": null } });
    let request = Request {
        headers: Some(&headers),
        caller: Some("caller-1"),
        ip: Some("192.0.2.7".parse().unwrap()),
        body: Some(&body),
        ..Request::new("put", PATH)
    };
    assert_eq!(named("caller", &request), "caller-1");
    assert_eq!(named("header:X-Region", &request), "!eu");
    assert_eq!(named("field:/order/shop", &request), "!s1");
    assert_eq!(named("path:id", &request), "!7");
    assert_eq!(named("ip", &request), "!192.0.2.7");
    assert_eq!(named("tenant", &request), "!acme");
    for (part, missing) in [("header:x-none", "-"), ("field:/order/none", "-"), ("field:/x", "-")] {
        assert_eq!(named(part, &request), missing, "{part}");
    }
}

#[test]
fn a_header_counts_by_its_bytes_also_where_they_are_not_ascii() {
    let of = |value: &[u8]| {
        let mut headers = HeaderMap::new();
        headers.insert("x-user", HeaderValue::from_bytes(value).unwrap());
        named("header:x-user", &Request { headers: Some(&headers), ..Request::new("PUT", PATH) })
    };
    let users = ["anna", "jörg", "jürgen", "日本"].map(|user| of(user.as_bytes()));
    let all: std::collections::BTreeSet<String> = users.into_iter().chain([of(b"\xff"), of(b"\xfe")]).collect();
    assert!(all.len() == 6 && all.iter().all(|value| value.starts_with('!')), "{all:?}");
}

#[test]
fn the_tenant_is_what_the_host_says_or_the_path_or_the_caller() {
    let request = Request { caller: Some("c"), ..Request::new("PUT", PATH) };
    assert_eq!(named("tenant", &Request { tenant: Some("t"), ..request }), "t");
    assert_eq!(named("tenant", &request), "!acme");
    let any = Match::new::<&str>(&[], Some("/v1/{a}/{b}/{c}/{d}")).unwrap();
    assert_eq!(name("tenant", &request, &any), "c");
    for spelling in ["orgId", "org_id", "tenant-id", "Organization", "organisationId"] {
        assert!(names_tenant(spelling), "{spelling}");
    }
}

#[test]
fn an_endpoint_is_a_method_and_a_template_or_the_path_where_that_is_open() {
    let request = Request::new("put", PATH);
    let same = named("endpoint", &request);
    assert_eq!(same, named("endpoint", &Request::new("PUT", "/v1/organizations/other/product/8")));
    let open = Match::new::<&str>(&[], Some("/v1/**")).unwrap();
    assert_eq!(name("endpoint", &Request::new("GET", "/v1/a?x=1"), &open), "!GET /v1/a");
    assert_ne!(
        name("endpoint", &Request::new("GET", "/v1/a"), &open),
        name("endpoint", &Request::new("GET", "/v1/b"), &open)
    );
}

/// A client can send any number of them.
#[test]
fn a_method_that_neither_http_nor_the_policy_names_is_brought() {
    let any = Match::new::<&str>(&[], Some("/v1/{id}")).unwrap();
    let webdav = Match::new(&["PROPFIND"], Some("/v1/{id}")).unwrap();
    let of = |method, matched: &Match| name("endpoint", &Request::new(method, "/v1/a"), matched);
    for method in ["GET", "head", "Patch", "QUERY", ""] {
        assert_eq!(of(method, &any), format!("{} /v1/{{id}}", method.to_ascii_uppercase()));
    }
    assert_eq!(of("propfind", &webdav), "PROPFIND /v1/{id}");
    assert_eq!(of("propfind", &any), "!PROPFIND /v1/{id}");
    assert_eq!(of("X-17", &any), "!X-17 /v1/{id}");
}

#[test]
fn another_spelling_of_a_path_is_the_same_endpoint() {
    for matched in [Match::default(), Match::new::<&str>(&[], Some("/v1/**")).unwrap()] {
        let of = |path| name("endpoint", &Request::new("GET", path), &matched);
        assert_eq!(of("/v1/cart"), "!GET /v1/cart");
        for spelling in ["/v1/cart/", "//v1/cart", "/v1///cart", "/v1/%63art", "/%761/cart?x", "/v1/cart#x"] {
            assert_eq!(of(spelling), of("/v1/cart"), "{spelling}");
        }
        assert_eq!(of("/v1/%ff%63"), of("/v1/%FFc"));
        assert_eq!(of("/v1/caf%C3%A9%20%5B"), "!GET /v1/caf%C3%A9%20%5B", "as most clients write it");
        for others in [["/v1/a/b", "/v1/a%2Fb"], ["/v1/%2525", "/v1/%25"], ["/v1/a", "/v1/A"]] {
            assert_ne!(of(others[0]), of(others[1]));
        }
    }
    assert_eq!(name("endpoint", &Request::new("GET", "/"), &Match::default()), "!GET /");
}

#[test]
fn addresses_are_one_per_subscriber() {
    let of = |text: &str| address(text.parse().unwrap());
    assert_eq!(of("::ffff:192.0.2.7"), "192.0.2.7");
    assert_eq!(of("2001:db8:1:2:aaaa::1"), of("2001:db8:1:2:bbbb::2"));
    assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
    assert!(!of("2001:db8::1").contains(':'), "colons part the values of a key");
}

#[test]
fn values_can_neither_grow_a_key_nor_pass_for_others() {
    assert_eq!(plain_or_hash("a.b_c-d@e"), "a.b_c-d@e");
    for value in ["", "-", "a:b", "a b", "~x", "{tag}", "ü", &"x".repeat(33), &"x".repeat(100_000)] {
        let hashed = plain_or_hash(value);
        assert!(hashed.starts_with('~') && hashed.len() == 23, "{hashed}");
    }
    assert_ne!(plain_or_hash(&"x".repeat(33)), plain_or_hash(&"x".repeat(34)));
}

#[test]
fn parts_read_back_and_others_are_named() {
    for part in ["caller", "tenant", "endpoint", "header:x-a", "field:/a/0", "path:id", "ip"] {
        assert_eq!(part.parse::<KeyPart>().unwrap().to_string(), part);
    }
    for part in ["", "user", "header:", "header:a b", "field:a", "path:", "ip:1"] {
        assert_eq!(part.parse::<KeyPart>(), Err(BadKeyPart(part.to_owned())));
    }
}
