//! Parses policies from files and requests: `policies`, or the published `slas`. All faults are reported together, each
//! with its place; then nothing is loaded.

mod pace;
mod policy;
mod sla;

pub use crate::kinds::FIXED_ALIGN;
pub use crate::policy::calendar::CALENDAR_PERIODS;

use std::fmt;

use dripfeed_job::{expected, unique_members};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use serde_saphyr::UserMessageFormatter;
use thiserror::Error;

use crate::policy::Policy;
use crate::policy::policies::Policies;
use crate::policy::tier::Tier;

/// All that is wrong with a list of policies.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub struct LoadError {
    faults: Vec<LoadFault>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadFault {
    /// Such as `policies[0].tiers[1].period`; empty: the document as a whole.
    pub place: String,
    pub message: String,
}

impl LoadError {
    /// For faults found by further checks of policies.
    #[must_use]
    pub const fn new(faults: Vec<LoadFault>) -> Self {
        Self { faults }
    }

    pub fn faults(&self) -> &[LoadFault] {
        &self.faults
    }
}

impl fmt::Display for LoadError {
    /// A line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, LoadFault { place, message }) in self.faults.iter().enumerate() {
            let line = if at == 0 { "" } else { "\n" };
            let colon = if place.is_empty() { "" } else { ": " };
            write!(f, "{line}{place}{colon}{message}")?;
        }
        Ok(())
    }
}

/// Reads a YAML document.
///
/// # Errors
/// When it can't be read; else every fault with its place.
pub fn yaml(text: &str) -> Result<Policies, LoadError> {
    document(parse_yaml(text)?)
}

/// Parses a YAML document without checking that it contains policies.
///
/// # Errors
/// When it isn't YAML.
pub fn parse_yaml(text: &str) -> Result<Json, LoadError> {
    let said = |error: serde_saphyr::Error| error.render_with_formatter(&UserMessageFormatter);
    serde_saphyr::from_str(text).map_err(|error| whole(&in_a_line(&said(error))))
}

/// The reader's message without the lines of the document, which may have secrets.
fn in_a_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default().trim_start_matches("error: ")
}

/// Reads a TOML document.
///
/// # Errors
/// As [`yaml`].
pub fn toml(text: &str) -> Result<Policies, LoadError> {
    document(toml::from_str(text).map_err(|error| whole(&error))?)
}

/// Reads a JSON document.
///
/// # Errors
/// As [`yaml`].
pub fn json(text: &str) -> Result<Policies, LoadError> {
    document(unique_members::from_str(text).map_err(|error| whole(&error))?)
}

/// Reads a document that was parsed: `{"policies": […]}` or `{"slas": […]}`.
///
/// # Errors
/// Every fault with its place.
pub fn document(document: Json) -> Result<Policies, LoadError> {
    let (name, items) = only_list(document)?;
    match name.as_str() {
        "policies" => list(&name, items),
        "slas" => read(&name, items, sla::read),
        _ => Err(no_document()),
    }
}

/// The same as `{"policies": […]}`, whichever it was. What can't be read as a policy is left unchanged.
pub(crate) fn as_policies(document: Json) -> Result<Json, LoadError> {
    let (name, items) = only_list(document)?;
    let items = match name.as_str() {
        "slas" => items.into_iter().map(|item| sla::as_policy(&item).unwrap_or(item)).collect(),
        _ => items,
    };
    Ok(serde_json::json!({ "policies": items }))
}

fn only_list(document: Json) -> Result<(String, Vec<Json>), LoadError> {
    let Json::Object(members) = document else { return Err(no_document()) };
    let mut members = members.into_iter();
    match (members.next(), members.next()) {
        (Some((name, Json::Array(items))), None) => Ok((name, items)),
        _ => Err(no_document()),
    }
}

fn no_document() -> LoadError {
    whole(&"send an object with one member, `policies` or `slas`, which is a list")
}

/// Reads a list of policies that is part of another document, where its name is `place`.
///
/// # Errors
/// Every fault with its place.
pub fn list(place: &str, items: Vec<Json>) -> Result<Policies, LoadError> {
    read(place, items, policy::read)
}

/// Reads the tiers of a pace, a list that is part of another document, where its name is `place`. A pace is spent by
/// who takes, in one scope: kinds `bucket`, `gate` and `fixed` without a spread.
///
/// # Errors
/// Every fault with its place.
pub fn pace(place: &str, items: Vec<Json>) -> Result<Vec<Tier>, LoadError> {
    pace::read(place, items)
}

type LoadFaults = Vec<LoadFault>;

fn read(
    place: &str,
    items: Vec<Json>,
    read: impl Fn(Json) -> Result<Policy, LoadFaults>,
) -> Result<Policies, LoadError> {
    let (mut policies, mut faults) = (Vec::new(), Vec::new());
    for (at, item) in items.into_iter().enumerate() {
        let below = |fault: LoadFault| LoadFault { place: join(&format!("{place}[{at}]"), &fault.place), ..fault };
        match read(item) {
            Ok(policy) => policies.push(policy),
            Err(found) => faults.extend(found.into_iter().map(below)),
        }
    }
    if !faults.is_empty() {
        return Err(LoadError { faults });
    }
    Policies::new(policies).map_err(|error| LoadError {
        faults: vec![LoadFault { place: format!("{place}[{}].id", error.place), message: error.to_string() }],
    })
}

/// Reads one item by its shape; the place in the fault is below the item.
fn shape<T: DeserializeOwned>(item: Json) -> Result<T, LoadFaults> {
    if !item.is_object() {
        return Err(vec![LoadFault { place: String::new(), message: "not an object".to_owned() }]);
    }
    serde_path_to_error::deserialize(item).map_err(|error| {
        let place = error.path().to_string();
        let place = if place == "." { String::new() } else { place };
        vec![LoadFault { place, message: expected::plain(&error.into_inner().to_string()) }]
    })
}

fn whole(message: &impl fmt::Display) -> LoadError {
    LoadError { faults: vec![LoadFault { place: String::new(), message: message.to_string() }] }
}

fn join(above: &str, below: &str) -> String {
    match below {
        "" => above.to_owned(),
        _ if below.starts_with('[') => format!("{above}{below}"),
        _ => format!("{above}.{below}"),
    }
}

/// Looked at before the first of them is read.
fn at_most(most: usize, place: &str, what: &str, count: usize) -> Result<(), LoadFaults> {
    let fault = || LoadFault { place: place.to_owned(), message: format!("{count} {what}: use at most {most}") };
    if count > most { Err(vec![fault()]) } else { Ok(()) }
}

/// A value that was parsed, or a fault at `place` in the list.
fn keep<T, E: fmt::Display>(faults: &mut LoadFaults, place: &str, read: Result<T, E>) -> Option<T> {
    read.map_err(|error| faults.push(LoadFault { place: place.to_owned(), message: error.to_string() })).ok()
}

#[cfg(test)]
mod tests;
