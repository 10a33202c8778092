//! Parses a JSON body into a type, and reports the place of a fault.

use std::fmt;
use std::marker::PhantomData;

use dripfeed_job::expected;
use dripfeed_job::unique_members::UniqueMembers;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment};

use crate::problem::{Code, FaultPlace, Problem};

/// Parses a body that is one object, in which no object has two members of one name.
pub(crate) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    parse::<UniqueMembers>(body)?;
    read_with_payload(body)
}

/// As [`read`], for a type with a payload. The payload may have duplicate members, because it is up to the upstream.
pub(crate) fn read_with_payload<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    parse(body).map(|Object(read)| read)
}

fn parse<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let mut track = serde_path_to_error::Track::new();
    let read = T::deserialize(serde_path_to_error::Deserializer::new(&mut json, &mut track))
        .map_err(|error| problem(&error, member(&track.path())))?;
    json.end().map_err(|error| problem(&error, None))?;
    Ok(read)
}

/// The path to a member, as far as its names were read.
fn member(path: &Path) -> Option<String> {
    let known = path.iter().take_while(|segment| !matches!(segment, Segment::Unknown));
    let member = known.fold(String::new(), |above, segment| match segment {
        Segment::Seq { .. } => format!("{above}{segment}"),
        _ if above.is_empty() => segment.to_string(),
        _ => format!("{above}.{segment}"),
    });
    (!member.is_empty()).then_some(member)
}

struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        object(deserializer).map(Self)
    }
}

/// For `#[serde(deserialize_with)]`: accepts only an object. Serde would also accept an array for a struct.
pub(crate) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

fn problem(error: &serde_json::Error, member: Option<String>) -> Problem {
    let code = match error.classify() {
        Category::Data => Code::BadMember,
        Category::Io | Category::Syntax | Category::Eof => Code::BadJson,
    };
    let place = FaultPlace { item: None, member, line: Some(error.line()), column: Some(error.column()) };
    Problem::new(code, without_place(error)).at(place)
}

/// The parser's message without the place, for which problems have members.
pub(crate) fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    expected::plain(text.strip_suffix(&place).unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_body_that_ends_early_names_no_member_that_it_does_not_have() {
        for (body, member) in [("{", Value::Null), ("{\"leak\": {", json!("leak")), ("{\"?\": ", json!("?"))] {
            let refused = read::<BTreeMap<String, Value>>(body.as_bytes()).err();
            let problem = serde_json::to_value(refused).unwrap_or_default();
            assert_eq!((&problem["code"], &problem["member"]), (&json!("bad_json"), &member), "{body}");
        }
    }
}
