#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

#[test]
fn the_bearer_scheme_is_case_insensitive() {
    let read = |value: &str| {
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);
        bearer(&headers).map(<[u8]>::to_vec)
    };
    for value in ["Bearer k", "bearer k", "BEARER  k "] {
        assert_eq!(read(value), Some(b"k".to_vec()), "{value}");
    }
    for value in ["Basic k", "Bearer", "k"] {
        assert_eq!(read(value), None, "{value}");
    }
}

#[test]
fn a_key_that_is_given_twice_is_none() {
    let twice = |name: HeaderName| {
        let values = ["Bearer k", "Bearer l"].map(|value| (name.clone(), value.parse().unwrap()));
        HeaderMap::from_iter(values)
    };
    assert_eq!(bearer(&twice(header::AUTHORIZATION)), None);
    assert_eq!(own_key(&twice(DRIPFEED_KEY)), Some(&b""[..]));
}

#[test]
fn without_keys_an_ipv6_subscriber_is_one_caller() {
    let at = |address: &str| LimitedCaller::new(None, Some(address.parse().unwrap()));
    assert_eq!(at("2001:db8::1"), at("2001:db8::2"));
    assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
    assert_eq!(at("192.0.2.1"), at("::ffff:192.0.2.1"));
    assert_ne!(at("192.0.2.1"), at("192.0.2.2"));
}
