//! A fingerprint of a submission, to detect a different submission with the same idempotency key.

use std::array;

use sha2::{Digest, Sha256};

use crate::submission::Submission;

/// Returns 32 hexadecimal digits: a hash of method, path and body, each prefixed by its length.
#[must_use]
pub fn fingerprint(submission: &Submission) -> String {
    let method = submission.method.as_ref().map_or("", http::Method::as_str);
    let path = submission.path.as_ref().map_or("", |path| path.as_str());
    let mut hash = Sha256::new();
    for part in [method.as_bytes(), path.as_bytes(), &submission.body] {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    let hash = hash.finalize();
    let first: [u8; 16] = array::from_fn(|at| hash[at]);
    format!("{:032x}", u128::from_be_bytes(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn of(method: Option<http::Method>, body: &'static str) -> String {
        fingerprint(&Submission { method, body: Bytes::from_static(body.as_bytes()), ..Submission::default() })
    }

    #[test]
    fn the_fingerprint_equals_those_stored_by_earlier_versions() {
        assert_eq!(of(None, "17"), "ede8a631eb0d3c7fa758fbabfc8a85b3");
        assert_eq!(of(Some(http::Method::PUT), "x"), "35f273f88b326ceb5b58b7041af486d8");
    }

    #[test]
    fn another_body_or_method_has_another_fingerprint() {
        assert_eq!(of(None, "a"), of(None, "a"));
        assert_eq!(of(None, "a").len(), 32);
        assert_ne!(of(None, "a"), of(None, "b"));
        assert_ne!(of(None, "a"), of(Some(http::Method::PUT), "a"));
        assert_ne!(of(Some(http::Method::PUT), ""), of(None, "PUT"));
    }
}
