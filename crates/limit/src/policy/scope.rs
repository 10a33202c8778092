//! What a policy counts by: each different value of its key is a scope with separate counts.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderName;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::policy::matching::{Match, Variables};
use crate::policy::request::Request;

/// Longer values are hashed: key names are kept in memory too.
const LONGEST_PLAIN: usize = 32;
/// What stands in a key for a value that a request doesn't have.
const MISSING: &str = "-";

/// What a request has for a part of a policy's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyPartValue<'r> {
    /// A name that the operator or the host of the limiter knows: it can be read in Redis.
    Named(Cow<'r, str>),
    /// What anybody may bring, in any number, secrets too.
    Brought(Cow<'r, str>),
    Missing,
}

impl KeyPartValue<'_> {
    pub(crate) fn is_brought(&self) -> bool {
        matches!(self, Self::Brought(_))
    }
}

/// One part of a policy's key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyPart {
    Caller,
    /// What the host says; else the path's variable `tenant`, `org`, `organization` or `organisation` (in any case,
    /// also as `org_id`, `orgId` …); else the caller.
    Tenant,
    /// The method and the path template that matched; where that leaves the rest of the path open, the path itself.
    Endpoint,
    Header(HeaderName),
    /// A member of the JSON body, by pointer.
    Field(String),
    /// A variable of the path template.
    Path(String),
    /// The caller's address. Of IPv6 the first 64 bits, which is what one subscriber has.
    Ip,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "`{0}` is no part of a key: use caller, tenant, endpoint, header:<name>, field:<JSON pointer>, path:<variable> or \
     ip"
)]
pub struct BadKeyPart(pub String);

impl FromStr for KeyPart {
    type Err = BadKeyPart;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || BadKeyPart(text.chars().take(64).collect());
        match text.split_once(':') {
            None => match text {
                "caller" => Ok(Self::Caller),
                "tenant" => Ok(Self::Tenant),
                "endpoint" => Ok(Self::Endpoint),
                "ip" => Ok(Self::Ip),
                _ => Err(bad()),
            },
            Some(("header", name)) => HeaderName::from_str(name).map(Self::Header).map_err(|_| bad()),
            Some(("field", pointer)) if pointer.starts_with('/') => Ok(Self::Field(pointer.to_owned())),
            Some(("path", name)) if !name.is_empty() => Ok(Self::Path(name.to_owned())),
            Some(_) => Err(bad()),
        }
    }
}

impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller => f.write_str("caller"),
            Self::Tenant => f.write_str("tenant"),
            Self::Endpoint => f.write_str("endpoint"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Field(pointer) => write!(f, "field:{pointer}"),
            Self::Path(name) => write!(f, "path:{name}"),
            Self::Ip => f.write_str("ip"),
        }
    }
}

impl KeyPart {
    pub(crate) fn of<'r>(
        &self,
        request: &'r Request<'_>,
        matched: &Match,
        variables: &'r Variables,
    ) -> KeyPartValue<'r> {
        let brought = |value: Option<Cow<'r, str>>| value.map_or(KeyPartValue::Missing, KeyPartValue::Brought);
        match self {
            Self::Caller => named(request.caller),
            Self::Tenant => tenant(request, variables),
            Self::Endpoint => endpoint(request, matched),
            Self::Header(name) => brought(request.header(name).map(Cow::from)),
            Self::Field(pointer) => brought(request.body.and_then(|body| field(body.pointer(pointer)?))),
            Self::Path(name) => brought(variables.get(name).map(Cow::from)),
            Self::Ip => brought(request.ip.map(|ip| Cow::from(address(ip)))),
        }
    }
}

fn named(name: Option<&str>) -> KeyPartValue<'_> {
    name.map_or(KeyPartValue::Missing, |name| KeyPartValue::Named(name.into()))
}

fn tenant<'r>(request: &'r Request<'_>, variables: &'r Variables) -> KeyPartValue<'r> {
    let of_path = || variables.iter().find(|(name, _)| names_tenant(name)).map(|(_, value)| value);
    match (request.tenant, of_path()) {
        (None, Some(value)) => KeyPartValue::Brought(value.into()),
        (tenant, _) => named(tenant.or(request.caller)),
    }
}

fn names_tenant(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let plain = plain.strip_suffix("id").unwrap_or(&plain);
    matches!(plain, "tenant" | "org" | "organization" | "organisation")
}

fn endpoint(request: &Request<'_>, matched: &Match) -> KeyPartValue<'static> {
    let method = request.method.to_ascii_uppercase();
    match matched.path() {
        Some(template) if template.names_one_endpoint() => KeyPartValue::Named(format!("{method} {template}").into()),
        _ => {
            let path = request.path.split(['?', '#']).next().unwrap_or_default();
            KeyPartValue::Brought(format!("{method} {path}").into())
        }
    }
}

fn field(value: &Json) -> Option<Cow<'_, str>> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text.into()),
        other => Some(other.to_string().into()),
    }
}

fn address(ip: IpAddr) -> String {
    match ip.to_canonical() {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).to_string().replace(':', "."),
    }
}

/// Short plain text unchanged, so that keys can be read; anything else by its hash.
pub(crate) fn plain_or_hash(value: &str) -> String {
    let plain = !value.is_empty()
        && value != MISSING
        && value.len() <= LONGEST_PLAIN
        && value
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-' | b'@' | b'/' | b'+' | b'='));
    if plain { value.to_owned() } else { format!("~{}", URL_SAFE_NO_PAD.encode(&digest(value.as_bytes())[..16])) }
}

pub(crate) fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests {
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
}
