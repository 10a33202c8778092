//! One item of a batch: a body and its options.

use std::collections::HashSet;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use dripfeed_job::options::OptionName;
use dripfeed_job::{Submission, forward};
use http::HeaderValue;
use jiff::Timestamp;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Number;
use serde_json::value::RawValue;

use crate::problem::{BadOption, Code, FaultPlace, Problem};
use crate::request::json::{object, without_place};
use crate::submit::batch::interoperable;

/// One job. `body` is forwarded as the JSON text in the request; other bytes are given as `body_base64`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReceivedItem<'a> {
    #[serde(default, borrow, deserialize_with = "as_written")]
    body: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "as_text")]
    body_base64: Option<String>,
    #[serde(default, deserialize_with = "as_text")]
    content_type: Option<String>,
    #[serde(default, borrow)]
    options: Members<'a>,
}

/// `null` is a valid body.
fn as_written<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// `null` isn't a valid text.
fn as_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

/// Parses an item; `text` is a slice of `batch`.
pub(crate) fn read(batch: &Bytes, text: &str, index: usize, now: Timestamp) -> Result<Submission, Problem> {
    let bad = |detail: String, member: Option<&str>, column: Option<usize>| {
        let place = FaultPlace { item: Some(index), member: member.map(str::to_owned), line: None, column };
        Problem::new(Code::BadItem, detail).at(place)
    };
    interoperable::check(text).map_err(|illegible| bad(illegible.reason.to_owned(), None, Some(illegible.column)))?;
    let mut json = serde_json::Deserializer::from_str(text);
    let item: ReceivedItem<'_> =
        object(&mut json).map_err(|error| bad(without_place(&error), None, Some(error.column())))?;
    let (body, content_type) =
        body(batch, &item).map_err(|(member, reason)| bad(reason.to_owned(), Some(member), None))?;
    let mut submission = Submission { body, content_type, ..Submission::default() };
    let refused: Vec<BadOption> =
        item.options.0.iter().flat_map(|(name, value)| apply(name, value, &mut submission, now)).collect();
    if refused.is_empty() {
        return Ok(submission);
    }
    Err(Problem::bad_options(refused).at(FaultPlace { item: Some(index), ..FaultPlace::default() }))
}

/// Body and content type, or the invalid member and the reason.
fn body(batch: &Bytes, item: &ReceivedItem<'_>) -> Result<(Bytes, Option<String>), (&'static str, &'static str)> {
    let content_type = item.content_type.clone();
    if content_type.as_deref().is_some_and(|text| HeaderValue::from_str(text).is_err() || !text.is_ascii()) {
        return Err(("content_type", "use visible ASCII characters"));
    }
    match (item.body, &item.body_base64) {
        (Some(body), None) => {
            let json = content_type.unwrap_or_else(|| "application/json".to_owned());
            Ok((batch.slice_ref(body.get().as_bytes()), Some(json)))
        }
        (None, Some(text)) => {
            let bytes = STANDARD.decode(text).map_err(|_| ("body_base64", "not valid base64 with padding"))?;
            Ok((bytes.into(), content_type))
        }
        (Some(_), Some(_)) => Err(("body_base64", "give either body or body_base64")),
        (None, None) => Err(("body", "missing; give body or body_base64")),
    }
}

fn apply(name: &str, value: &RawValue, submission: &mut Submission, now: Timestamp) -> Vec<BadOption> {
    if name == "forward" {
        return headers(value, submission);
    }
    let applied = OptionName::of_member(name)
        .ok_or_else(|| "unknown option".to_owned())
        .and_then(|option| Ok((option, text(option, value)?)))
        .and_then(|(option, text)| option.apply(&text, submission, now).map_err(|reason| reason.to_string()));
    applied.err().map(|reason| BadOption::new(name, reason)).into_iter().collect()
}

fn headers(value: &RawValue, submission: &mut Submission) -> Vec<BadOption> {
    let headers: Members<'_> = match serde_json::from_str(value.get()) {
        Ok(headers) => headers,
        Err(error) => return vec![BadOption::new("forward", without_place(&error))],
    };
    let push = |(name, value): &(String, &RawValue)| {
        let text = serde_json::from_str::<String>(value.get()).map_err(|_| "must be a string".to_owned());
        let is_given = submission.headers.iter().any(|(given, _)| given.as_str().eq_ignore_ascii_case(name));
        let pushed = match text {
            Ok(_) if is_given => Err("given more than once".to_owned()),
            text => text.and_then(|text| submission.headers.push(name, &text).map_err(|error| error.to_string())),
        };
        pushed.err().map(|reason| BadOption::new(&format!("forward.{name}"), reason))
    };
    headers.0.iter().filter_map(push).collect()
}

/// An option's value in the form of its header. Counts are numbers, all others text.
fn text(option: OptionName, value: &RawValue) -> Result<String, String> {
    match option {
        OptionName::Retries => serde_json::from_str::<Number>(value.get())
            .map(|number| number.to_string())
            .map_err(|_| "must be a number".to_owned()),
        _ => serde_json::from_str(value.get()).map_err(|_| "must be a string".to_owned()),
    }
}

/// The maximum members of `options` and of `forward`: the maximum number of forwarded headers, which is more than the
/// number of options.
const MOST_MEMBERS: usize = forward::MOST;

/// The members of an object, in order, at most `MOST_MEMBERS` and without duplicates.
#[derive(Default)]
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor).map(Self)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut members, mut names) = (Self::Value::new(), HashSet::new());
        while let Some(name) = map.next_key::<String>()? {
            if members.len() == MOST_MEMBERS {
                return Err(serde::de::Error::custom(format_args!("more than {MOST_MEMBERS} members")));
            }
            if !names.insert(name.clone()) {
                return Err(serde::de::Error::custom(format_args!("`{}` is given twice", shown(&name))));
            }
            members.push((name, map.next_value()?));
        }
        Ok(members)
    }
}

fn shown(name: &str) -> String {
    name.chars().take(64).collect()
}

#[cfg(test)]
mod tests;
