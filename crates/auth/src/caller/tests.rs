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
