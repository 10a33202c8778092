//! Splits a batch into the texts of its items, so that no item is stored if the batch as a whole isn't JSON.

use std::fmt;

use http::{HeaderMap, header};
use memchr::memchr_iter;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::problem::{Code, FaultPlace, Problem};
use crate::request::json::without_place;

/// The format of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchFormat {
    Array,
    Lines,
    /// Unknown content type: an array if it begins with a bracket.
    Detect,
}

impl BatchFormat {
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
pub(super) fn items(body: &[u8], form: BatchFormat, most: usize) -> Result<Vec<&str>, Problem> {
    let begins_as_array = || body.trim_ascii_start().first() == Some(&b'[');
    let items = match form {
        BatchFormat::Array => of_array(body, most)?,
        BatchFormat::Detect if begins_as_array() => of_array(body, most)?,
        BatchFormat::Lines | BatchFormat::Detect => of_lines(body, most)?,
    };
    if items.is_empty() { Err(Problem::new(Code::BadBatch, "the batch is empty")) } else { Ok(items) }
}

/// Returned at the first item too many; the rest isn't parsed.
fn too_many(most: usize) -> Problem {
    Problem::new(Code::BodyTooLarge, format!("the batch has more than {most} items; split it"))
}

fn of_array(body: &[u8], most: usize) -> Result<Vec<&str>, Problem> {
    let mut items = Vec::new();
    let mut json = serde_json::Deserializer::from_slice(body);
    let read = Array { items: &mut items, most }.deserialize(&mut json).and_then(|()| json.end());
    match read {
        Ok(()) => Ok(items),
        Err(_) if items.len() > most => Err(too_many(most)),
        Err(error) => Err(bad(&error, Some(items.len()), error.line())),
    }
}

fn of_lines(body: &[u8], most: usize) -> Result<Vec<&str>, Problem> {
    let mut items = Vec::new();
    for (line, text) in (1..).zip(lines(body)) {
        if text.trim_ascii().is_empty() {
            continue;
        }
        if items.len() == most {
            return Err(too_many(most));
        }
        serde_json::from_slice::<&RawValue>(text).map_err(|error| bad(&error, Some(items.len()), line))?;
        let not_utf8 = |_| Problem::new(Code::BadBatch, "the line is not UTF-8");
        items.push(std::str::from_utf8(text).map_err(not_utf8)?);
    }
    Ok(items)
}

/// All lines, including one without a line break at the end. Faster than `split`, which checks bytes one by one.
fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut begin = 0;
    let ends = memchr_iter(b'\n', body).chain([body.len()]);
    ends.map(move |end| &body[std::mem::replace(&mut begin, end + 1)..end])
}

fn bad(error: &serde_json::Error, item: Option<usize>, line: usize) -> Problem {
    let place = FaultPlace { item, member: None, line: Some(line), column: Some(error.column()) };
    Problem::new(Code::BadBatch, without_place(error)).at(place)
}

/// Collects the texts of the items, up to the first one too many. After an error their number shows the invalid item.
struct Array<'a, 'de> {
    items: &'a mut Vec<&'de str>,
    most: usize,
}

impl<'de> DeserializeSeed<'de> for Array<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Array<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of items; for one item per line send `Content-Type: application/x-ndjson`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<&RawValue>()? {
            self.items.push(item.get());
            if self.items.len() > self.most {
                return Err(serde::de::Error::custom("too many items"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
