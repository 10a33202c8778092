//! Headers for an upstream, with its credentials. Values are never shown.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// Names and secret values, as they stand in the configuration.
#[derive(Default)]
pub(in crate::settings) struct SecretHeaders(pub(in crate::settings) Vec<(String, SecretString)>);

impl<'de> Deserialize<'de> for SecretHeaders {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Headers)
    }
}

struct Headers;

impl<'de> Visitor<'de> for Headers {
    type Value = SecretHeaders;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("header names and values, such as { Authorization = \"Bearer …\" }")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SecretHeaders, A::Error> {
        let mut headers = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            match map.next_value::<SecretString>() {
                Ok(value) => headers.push((name, value)),
                Err(_) => return Err(Error::custom(format!("the value of `{name}` must be a string in quotes"))),
            }
        }
        Ok(SecretHeaders(headers))
    }

    // Serde would show the value.
    fn visit_str<E: Error>(self, _: &str) -> Result<SecretHeaders, E> {
        Err(E::custom("must be a table of names and values, such as { Authorization = \"Bearer …\" }"))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<SecretHeaders, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        self.visit_str("")
    }
}

/// Reads a file of lines `Name: value`. Empty lines and lines that begin with `#` say nothing.
///
/// # Errors
/// The line that isn't one, by its number.
pub(super) fn from_lines(text: &SecretString) -> Result<SecretHeaders, String> {
    let mut headers = Vec::new();
    for (number, line) in (1..).zip(text.expose_secret().lines()) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) =
            line.split_once(':').ok_or_else(|| format!("line {number} is not of the form `Name: value`"))?;
        headers.push((name.trim().to_owned(), SecretString::from(value.trim())));
    }
    Ok(SecretHeaders(headers))
}
