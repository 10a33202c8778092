//! Signs calls as Standard Webhooks specify (<https://www.standardwebhooks.com>), so that the upstream can verify their
//! origin, content and age.

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dripfeed_job::{BucketName, JobId};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretSlice};
use sha2::Sha256;
use thiserror::Error;

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

const PREFIX: &str = "whsec_";

/// A signing secret, shared with the upstream. `FromStr` parses `whsec_…`.
#[derive(Clone, Debug)]
pub struct SigningSecret(SecretSlice<u8>);

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "is not a signing secret: use `whsec_` and the base64 of 24 to 64 random bytes, such as from echo \"whsec_$(head \
        -c 32 /dev/urandom | base64)\""
)]
pub struct BadSigningSecret;

impl FromStr for SigningSecret {
    type Err = BadSigningSecret;

    fn from_str(text: &str) -> Result<Self, BadSigningSecret> {
        let bytes = text.strip_prefix(PREFIX).and_then(|text| STANDARD.decode(text).ok());
        let bytes = bytes.filter(|bytes| (24..=64).contains(&bytes.len())).ok_or(BadSigningSecret)?;
        Ok(Self(bytes.into()))
    }
}

impl PartialEq for SigningSecret {
    fn eq(&self, other: &Self) -> bool {
        self.0.expose_secret() == other.0.expose_secret()
    }
}

impl Eq for SigningSecret {}

impl SigningSecret {
    fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> Option<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.expose_secret()).ok()?;
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
    }
}

/// Adds the three headers, with a signature for each secret. Returns `None` if `id` isn't valid in a header.
pub(crate) fn sign(
    headers: &mut HeaderMap,
    secrets: &[SigningSecret],
    id: &str,
    seconds: i64,
    body: &[u8],
) -> Option<()> {
    let signatures: Vec<String> = secrets.iter().map(|secret| secret.sign(id, seconds, body)).collect::<Option<_>>()?;
    headers.insert(ID, HeaderValue::from_str(id).ok()?);
    headers.insert(TIMESTAMP, seconds.into());
    headers.insert(SIGNATURE, HeaderValue::from_str(&signatures.join(" ")).ok()?);
    Some(())
}

/// The same for all attempts at a job. A full stop is escaped, because it separates the id in the signed text.
pub(crate) fn webhook_id(bucket: &BucketName, job: JobId) -> String {
    format!("{}/{job}", bucket.as_str().replace('.', "%2E"))
}

#[cfg(test)]
pub(crate) mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use standardwebhooks::Webhook;

    use super::*;

    /// Of different lengths, the longest and the shortest that there may be.
    pub(crate) fn secrets() -> [String; 2] {
        [[1; 24].as_slice(), &[2; 64]].map(|bytes| format!("{PREFIX}{}", STANDARD.encode(bytes)))
    }

    fn now() -> i64 {
        jiff::Timestamp::now().as_second()
    }

    fn signed(secrets: &[String], body: &[u8]) -> HeaderMap {
        let secrets: Vec<SigningSecret> = secrets.iter().map(|secret| secret.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        sign(&mut headers, &secrets, "b/1-0", now(), body).unwrap();
        headers
    }

    #[test]
    fn the_library_of_an_upstream_verifies_what_was_signed() {
        // Theirs takes texts alone.
        for body in [b"{\"n\":1}".as_slice(), b"", "1.\u{0}ä\n".as_bytes()] {
            let both = signed(&secrets(), body);
            for secret in secrets() {
                let upstream = Webhook::new(&secret).unwrap();
                assert!(upstream.verify(body, &both).is_ok());
                assert!(upstream.verify(b"another", &both).is_err());
                let mut moved = both.clone();
                moved.insert(ID, HeaderValue::from_static("b/1-1"));
                assert!(upstream.verify(body, &moved).is_err());
                let mut renewed = both.clone();
                renewed.insert(TIMESTAMP, HeaderValue::from(now() + 60));
                assert!(upstream.verify(body, &renewed).is_err());
            }
            let one = signed(&secrets()[..1], body);
            assert!(Webhook::new(&secrets()[1]).unwrap().verify(body, &one).is_err());
        }
    }

    #[test]
    fn the_library_of_an_upstream_would_have_signed_the_same() {
        let [secret, _] = secrets();
        let theirs = Webhook::new(&secret).unwrap().sign("b/1-0", 1_674_087_231, b"{}").unwrap();
        let ours = secret.parse::<SigningSecret>().unwrap().sign("b/1-0", 1_674_087_231, b"{}");
        assert_eq!(ours, Some(theirs));
    }

    #[test]
    fn what_is_no_secret_is_refused_and_none_is_shown() {
        let of = |bytes: &[u8]| format!("{PREFIX}{}", STANDARD.encode(bytes));
        for text in
            ["", "whsec_", "canary", "whsec_canary!", &of(&[0; 23]), &of(&[0; 65]), &of(&[0; 32])[PREFIX.len()..]]
        {
            assert_eq!(text.parse::<SigningSecret>().err(), Some(BadSigningSecret), "{text}");
        }
        let secret = of(b"canary canary canary canary").parse::<SigningSecret>().unwrap();
        let shown = format!("{secret:?}");
        assert!(!shown.contains("canary") && !shown.contains("99"), "{shown}");
    }

    #[test]
    fn a_dot_in_a_bucket_ends_no_id() {
        let id = webhook_id(&"mail.eu".parse().unwrap(), JobId::new(17, 0));
        assert_eq!(id, "mail%2Eeu/17-0");
    }
}
