//! Signing secrets of calls: one, or several during a rotation. They are never shown.

use std::fmt;

use dripfeed_processor::SigningSecret;
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

#[derive(Default)]
pub(in crate::settings) struct SigningSecrets(pub(in crate::settings) Vec<SigningSecret>);

impl<'de> Deserialize<'de> for SigningSecrets {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(OneOrMore)
    }
}

struct OneOrMore;

impl<'de> Visitor<'de> for OneOrMore {
    type Value = SigningSecrets;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a signing secret in quotes, or a list of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<SigningSecrets, E> {
        if text.is_empty() {
            return Ok(SigningSecrets::default());
        }
        text.parse().map(|secret| SigningSecrets(vec![secret])).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<SigningSecrets, A::Error> {
        let mut secrets = Vec::new();
        while let Some(One(secret)) = list.next_element()? {
            secrets.push(secret);
        }
        Ok(SigningSecrets(secrets))
    }
}

struct One(SigningSecret);

impl<'de> Deserialize<'de> for One {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = SecretString::deserialize(from)?;
        text.expose_secret().parse().map(One).map_err(D::Error::custom)
    }
}

/// # Errors
/// When the line isn't a signing secret.
pub(super) fn from_line(line: &str) -> Result<Option<SigningSecret>, String> {
    line.parse().map(Some).map_err(|error| format!("{error}"))
}
