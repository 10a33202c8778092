//! Headers for an upstream, which may contain credentials. Their values are never shown.

use std::fmt;

use secrecy::SecretString;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// Names and secret values.
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
        let (mut headers, mut wrong) = (Vec::new(), Vec::new());
        while let Some(name) = map.next_key::<String>()? {
            match map.next_value::<SecretString>() {
                Ok(value) => headers.push((name, value)),
                Err(_) => wrong.push(format!("`{name}`")),
            }
        }
        if wrong.is_empty() {
            return Ok(SecretHeaders(headers));
        }
        Err(Error::custom(format!("the value of {} must be a string in quotes", wrong.join(" and "))))
    }

    // The default error of serde would show the value.
    fn visit_str<E: Error>(self, _: &str) -> Result<SecretHeaders, E> {
        Err(E::custom("must be a table of names and values, such as { Authorization = \"Bearer …\" }"))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<SecretHeaders, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        self.visit_str("")
    }
}

/// Parses a line `Name: value`. Returns `None` for a comment, which begins with `#`.
///
/// # Errors
/// When the line has another form.
pub(super) fn from_line(line: &str) -> Result<Option<(String, SecretString)>, String> {
    if line.starts_with('#') {
        return Ok(None);
    }
    let (name, value) = line.split_once(':').ok_or("is not of the form `Name: value`")?;
    Ok(Some((name.trim().to_owned(), SecretString::from(value.trim()))))
}
