//! JSON in which no object has two members of the same name.
//!
//! Of two such members most parsers use the last, some the first. So what one parser has checked may not be what
//! another one uses (RFC 8259, section 4).

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Any JSON value without duplicate members. Parsing another one fails at the second of them.
#[derive(Clone, Copy, Debug)]
pub struct UniqueMembers;

/// Parses JSON in which no object has two members of the same name.
///
/// # Errors
///
/// The fault with its line and column.
pub fn from_str<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str::<UniqueMembers>(text)?;
    serde_json::from_str(text)
}

impl<'de> Deserialize<'de> for UniqueMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueMembersVisitor)
    }
}

struct UniqueMembersVisitor;

impl<'de> Visitor<'de> for UniqueMembersVisitor {
    type Value = UniqueMembers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_i64<E>(self, _: i64) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_u64<E>(self, _: u64) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_f64<E>(self, _: f64) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_str<E>(self, _: &str) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_unit<E>(self) -> Result<UniqueMembers, E> {
        Ok(UniqueMembers)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<UniqueMembers, A::Error> {
        while items.next_element::<UniqueMembers>()?.is_some() {}
        Ok(UniqueMembers)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<UniqueMembers, A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if names.contains(&name) {
                // Reported as an error of the value, which has a line and a column.
                return members.next_value_seed(Duplicate(&name));
            }
            names.insert(name);
            members.next_value::<UniqueMembers>()?;
        }
        Ok(UniqueMembers)
    }
}

/// The value of a second member of this name.
struct Duplicate<'n>(&'n str);

impl<'de> DeserializeSeed<'de> for Duplicate<'_> {
    type Value = UniqueMembers;

    fn deserialize<D: Deserializer<'de>>(self, _: D) -> Result<UniqueMembers, D::Error> {
        Err(D::Error::custom(format_args!("duplicate field `{}`", self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> Option<String> {
        from_str::<serde_json::Value>(text).err().map(|error| error.to_string())
    }

    #[test]
    fn no_object_has_two_members_of_one_name() {
        for unique in [r#"{"a": {"a": [1, -1, 0.5, "a", true, null]}, "b": [{"a": 1}, {"a": 2}]}"#, "[]", "7"] {
            assert_eq!(fault(unique), None);
        }
        for (text, column) in [(r#"{"a": 1, "a": 1}"#, 14), (r#"[{"b": {"a": 1, "\u0061": [2]}}]"#, 26)] {
            assert_eq!(fault(text), Some(format!("duplicate field `a` at line 1 column {column}")));
        }
        assert_eq!(fault("{"), Some("EOF while parsing an object at line 1 column 1".to_owned()));
    }
}
