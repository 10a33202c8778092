//! Encrypts the credentials of a definition for its bucket and the origin of its upstream, so that they can't be
//! decrypted if they are copied to another bucket or used with another upstream.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use dripfeed_job::BucketName;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use secrecy::{ExposeSecret as _, SecretString};

use crate::settings::secret;

/// Two during a rotation.
const MAX_KEYS: usize = 2;
const HOW_TO_CREATE: &str = "create one with: head -c 32 /dev/urandom | base64";

/// The first key encrypts; decryption tries each.
#[derive(Clone)]
pub(super) struct SealKeys(Arc<Vec<LessSafeKey>>);

impl fmt::Debug for SealKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} seal keys", self.0.len())
    }
}

impl SealKeys {
    /// # Errors
    /// A sentence that says what is wrong with the file.
    pub(super) fn of_file(path: &Path) -> Result<Self, String> {
        Self::of_lines(&secret::read_secret(path)?).map_err(|message| format!("{}: {message}", path.display()))
    }

    fn of_lines(text: &SecretString) -> Result<Self, String> {
        let mut keys = Vec::new();
        for (number, line) in (1..).zip(text.expose_secret().lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let bytes = STANDARD.decode(line.trim()).unwrap_or_default();
            let key = UnboundKey::new(&AES_256_GCM, &bytes)
                .map_err(|_| format!("line {number} is not a 32-byte key in base64; {HOW_TO_CREATE}"))?;
            keys.push(LessSafeKey::new(key));
        }
        match keys.len() {
            1..=MAX_KEYS => Ok(Self(Arc::new(keys))),
            0 => Err(format!("has no key; {HOW_TO_CREATE}")),
            number => Err(format!("has {number} keys; use at most two, the new one first")),
        }
    }

    /// Returns `None` if the operating system's random number generator failed.
    pub(super) fn seal(&self, bucket: &BucketName, origin: &str, credentials: &str) -> Option<String> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).ok()?;
        let mut sealed = credentials.as_bytes().to_vec();
        let context = Aad::from(context(bucket, origin));
        self.0.first()?.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), context, &mut sealed).ok()?;
        Some(URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat()))
    }

    /// Returns `None` if the text was encrypted with another key, bucket or origin, or was changed.
    pub(super) fn open(&self, bucket: &BucketName, origin: &str, sealed: &str) -> Option<SecretString> {
        self.0.iter().find_map(|key| open_with(key, bucket, origin, sealed))
    }

    /// Encrypts with the first key. Returns a text that has this key unchanged, so that an unrelated change of the
    /// definition doesn't change it. Returns `None` like [`Self::open`].
    pub(super) fn seal_again(&self, bucket: &BucketName, origin: &str, sealed: &str) -> Option<String> {
        if open_with(self.0.first()?, bucket, origin, sealed).is_some() {
            return Some(sealed.to_owned());
        }
        self.seal(bucket, origin, self.open(bucket, origin, sealed)?.expose_secret())
    }
}

fn open_with(key: &LessSafeKey, bucket: &BucketName, origin: &str, sealed: &str) -> Option<SecretString> {
    let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
    let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut sealed = sealed.to_vec();
    let opened = key.open_in_place(nonce, Aad::from(context(bucket, origin)), &mut sealed).ok()?;
    std::str::from_utf8(opened).ok().map(SecretString::from)
}

/// The associated data. Unambiguous, because names of buckets have no spaces.
fn context(bucket: &BucketName, origin: &str) -> Vec<u8> {
    format!("{bucket} {origin}").into_bytes()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    const ORIGIN: &str = "https://a.example:443";

    fn keys(of: &[u8]) -> SealKeys {
        let lines: Vec<String> = of.iter().map(|byte| STANDARD.encode([*byte; 32])).collect();
        SealKeys::of_lines(&SecretString::from(lines.join("\n"))).unwrap()
    }

    fn opened(keys: &SealKeys, bucket: &str, origin: &str, sealed: &str) -> Option<String> {
        keys.open(&bucket.parse().unwrap(), origin, sealed).map(|opened| opened.expose_secret().to_owned())
    }

    #[test]
    fn credentials_open_for_their_bucket_and_origin_alone() {
        let sealed = keys(&[1]).seal(&"b".parse().unwrap(), ORIGIN, "secret").unwrap();
        assert_eq!(opened(&keys(&[1]), "b", ORIGIN, &sealed).as_deref(), Some("secret"));
        assert_eq!(opened(&keys(&[1]), "c", ORIGIN, &sealed), None);
        assert_eq!(opened(&keys(&[1]), "b", "https://a.example:444", &sealed), None);
        assert_eq!(opened(&keys(&[2]), "b", ORIGIN, &sealed), None);
        for changed in ["", "x", &sealed[1..], &format!("A{}", &sealed[1..])] {
            assert!(changed == sealed || opened(&keys(&[1]), "b", ORIGIN, changed).is_none(), "{changed}");
        }
    }

    #[test]
    fn a_new_key_comes_before_the_old_one() {
        let sealed = keys(&[1]).seal(&"b".parse().unwrap(), ORIGIN, "secret").unwrap();
        assert_eq!(opened(&keys(&[2, 1]), "b", ORIGIN, &sealed).as_deref(), Some("secret"));
        let again = keys(&[2, 1]).seal(&"b".parse().unwrap(), ORIGIN, "secret").unwrap();
        assert_eq!(opened(&keys(&[2]), "b", ORIGIN, &again).as_deref(), Some("secret"));
    }

    #[test]
    fn an_invalid_seal_key_is_refused_and_not_shown() {
        let three = format!("{0}\n{0}\n{0}", STANDARD.encode([1; 32]));
        for text in ["", "short", "QUJD", &three] {
            let refused = SealKeys::of_lines(&SecretString::from(text.to_owned())).unwrap_err();
            assert!(text.is_empty() || !refused.contains(text), "{refused}");
        }
    }
}
