//! Splits a batch into its items after checking that all of it is well-formed: no item is stored while another can't be
//! parsed.

use std::cell::Cell;
use std::fmt;

use http::{HeaderMap, header};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::problem::{Code, FaultPlace, Problem};
use crate::request::json::without_place;

/// The format of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Array,
    Lines,
    /// The content type doesn't say: an array begins with a bracket.
    Detect,
}

impl Form {
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        if headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
            return Err(Problem::new(Code::BadMediaType, "send a batch without Content-Encoding"));
        }
        let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        Ok(match essence.as_str() {
            "application/json" => Self::Array,
            "application/x-ndjson" | "application/ndjson" | "application/jsonl" | "application/x-jsonlines" => {
                Self::Lines
            }
            _ => Self::Detect,
        })
    }
}

/// The JSON texts of the items, at least one and at most `most`.
pub(super) fn items(body: &[u8], form: Form, most: usize) -> Result<Vec<&str>, Problem> {
    let begins_as_array = || body.trim_ascii_start().first() == Some(&b'[');
    let items = match form {
        Form::Array => of_array(body, most)?,
        Form::Detect if begins_as_array() => of_array(body, most)?,
        Form::Lines | Form::Detect => of_lines(body, most)?,
    };
    if items.is_empty() { Err(Problem::new(Code::BadBatch, "the batch is empty")) } else { Ok(items) }
}

/// Returned at the first item too many; the rest isn't parsed.
fn too_many(most: usize) -> Problem {
    Problem::new(Code::BodyTooLarge, format!("the batch has more than {most} items; split it"))
}

fn of_array(body: &[u8], most: usize) -> Result<Vec<&str>, Problem> {
    let item = Cell::new(0);
    let mut json = serde_json::Deserializer::from_slice(body);
    Array { item: &item, most }.deserialize(&mut json).and_then(|()| json.end()).map_err(|error| {
        if item.get() > most { too_many(most) } else { bad(&error, Some(item.get()), error.line()) }
    })?;
    let texts: Vec<&RawValue> = serde_json::from_slice(body).map_err(|error| bad(&error, None, error.line()))?;
    Ok(texts.into_iter().map(RawValue::get).collect())
}

fn of_lines(body: &[u8], most: usize) -> Result<Vec<&str>, Problem> {
    let mut items = Vec::new();
    for (line, text) in (1..).zip(body.split(|byte| *byte == b'\n')) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        if items.len() == most {
            return Err(too_many(most));
        }
        let mut json = serde_json::Deserializer::from_slice(text);
        let read = WellFormed.deserialize(&mut json).and_then(|()| json.end());
        read.map_err(|error| bad(&error, Some(items.len()), line))?;
        let not_utf8 = |_| Problem::new(Code::BadBatch, "the line is not UTF-8");
        items.push(std::str::from_utf8(text).map_err(not_utf8)?);
    }
    Ok(items)
}

fn bad(error: &serde_json::Error, item: Option<usize>, line: usize) -> Problem {
    let place = FaultPlace { item, member: None, line: Some(line), column: Some(error.column()) };
    Problem::new(Code::BadBatch, without_place(error)).at(place)
}

/// Checks the items of an array and tracks the position.
struct Array<'a> {
    item: &'a Cell<usize>,
    most: usize,
}

impl<'de> DeserializeSeed<'de> for Array<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Array<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(WellFormed)?.is_some() {
            self.item.set(self.item.get() + 1);
            if self.item.get() > self.most {
                return Err(serde::de::Error::custom("too many items"));
            }
        }
        Ok(())
    }
}

/// Checks any JSON value. A raw value alone would accept a lone surrogate or unlimited nesting.
struct WellFormed;

impl<'de> DeserializeSeed<'de> for WellFormed {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for WellFormed {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while members.next_key_seed(Self)?.is_some() {
            members.next_value_seed(Self)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use serde_json::{Value, json};

    use super::*;

    fn problem(body: &[u8], form: Form) -> Value {
        serde_json::to_value(items(body, form, 100).unwrap_err()).unwrap()
    }

    fn place(body: &[u8], form: Form) -> (Value, Value, Value, Value) {
        let problem = problem(body, form);
        let [status, item, line, column] = ["status", "item", "line", "column"].map(|name| problem[name].clone());
        (status, item, line, column)
    }

    #[test]
    fn items_keep_their_text() {
        let expected = vec!["{\"body\": 1.0}", "{\"body\":\"é\\u00e9\"}"];
        let array = b"[ {\"body\": 1.0} ,\n{\"body\":\"\xc3\xa9\\u00e9\"}]\n";
        assert_eq!(items(array, Form::Array, 2).unwrap(), expected);
        assert_eq!(items(array, Form::Detect, 2).unwrap(), expected);
        let lines = b"{\"body\": 1.0}\n\n{\"body\":\"\xc3\xa9\\u00e9\"}";
        assert_eq!(items(lines, Form::Lines, 2).unwrap(), expected);
        assert_eq!(items(lines, Form::Detect, 2).unwrap(), expected);
    }

    #[test]
    fn malformed_json_refuses_the_batch_with_its_place() {
        let as_array = |body: &[u8]| place(body, Form::Array);
        assert_eq!(as_array(b"[{\"body\":1},\n{\"body\":NaN}]"), (json!(400), json!(1), json!(2), json!(9)));
        assert_eq!(as_array(b"[{\"body\":1},{\"body\""), (json!(400), json!(1), json!(1), json!(19)));
        assert_eq!(as_array(b"[{\"body\":\"\\ud800\"}]").0, json!(400));
        assert_eq!(as_array(b"[{\"body\":\"\xff\"}]").0, json!(400));
        assert_eq!(as_array(b"{\"body\":1}").0, json!(400));
        assert_eq!(as_array(b"[1] [2]").0, json!(400));
        let as_lines = |body: &[u8]| place(body, Form::Lines);
        assert_eq!(as_lines(b"{\"body\":1}\n\n{\"body\":Infinity}\n"), (json!(400), json!(1), json!(3), json!(9)));
        assert_eq!(as_lines(b"{\"body\":1} {\"body\":2}").0, json!(400));
        assert_eq!(as_lines(b"[\n1\n]").0, json!(400));
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep = |depth: usize| format!("[{}{}]", "[".repeat(depth), "]".repeat(depth));
        assert!(items(deep(100).as_bytes(), Form::Array, 1).is_ok());
        assert_eq!(place(deep(10_000).as_bytes(), Form::Array).0, json!(400));
        assert_eq!(place(deep(10_000).as_bytes(), Form::Lines).0, json!(400));
    }

    #[test]
    fn the_number_of_items_is_limited() {
        for body in ["", "\n\n", "[]"] {
            assert_eq!(problem(body.as_bytes(), Form::Detect)["code"], "bad_batch", "{body:?}");
        }
        // What follows the first item too many isn't parsed.
        assert_eq!(items(b"1\n2\n3\n?", Form::Lines, 2).unwrap_err().code(), Code::BodyTooLarge);
        assert_eq!(items(b"[1,2,3,?", Form::Array, 2).unwrap_err().code(), Code::BodyTooLarge);
    }

    #[test]
    fn the_content_type_names_the_format() {
        let form = |content_type: &str| {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, content_type.parse().unwrap())]);
            Form::of(&headers).unwrap()
        };
        assert_eq!(form("application/json; charset=utf-8"), Form::Array);
        assert_eq!(form("application/x-ndjson"), Form::Lines);
        assert_eq!(form("Application/JSONL"), Form::Lines);
        assert_eq!(form("text/plain"), Form::Detect);
        let encoded = HeaderMap::from_iter([(header::CONTENT_ENCODING, "gzip".parse().unwrap())]);
        assert_eq!(Form::of(&encoded).unwrap_err().code(), Code::BadMediaType);
    }
}
