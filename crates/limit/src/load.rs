//! Policies from files and requests: `policies`, or the published `slas`. All that is wrong is told at once, each with its
//! place; nothing is loaded then.

mod policy;
mod sla;
mod tier;

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use thiserror::Error;

use crate::policies::Policies;
use crate::policy::Policy;

/// All that is wrong with a list of policies.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub struct LoadError {
    faults: Vec<Fault>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Such as `policies[0].tiers[1].period`; empty: the document as a whole.
    pub place: String,
    pub message: String,
}

impl LoadError {
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl fmt::Display for LoadError {
    /// A line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Fault { place, message }) in self.faults.iter().enumerate() {
            let line = if at == 0 { "" } else { "\n" };
            let colon = if place.is_empty() { "" } else { ": " };
            write!(f, "{line}{place}{colon}{message}")?;
        }
        Ok(())
    }
}

/// Reads a YAML document.
pub fn yaml(text: &str) -> Result<Policies, LoadError> {
    document(serde_saphyr::from_str(text).map_err(|error| whole(&error))?)
}

/// Reads a TOML document.
pub fn toml(text: &str) -> Result<Policies, LoadError> {
    document(toml::from_str(text).map_err(|error| whole(&error))?)
}

/// Reads a JSON document.
pub fn json(text: &str) -> Result<Policies, LoadError> {
    document(serde_json::from_str(text).map_err(|error| whole(&error))?)
}

/// Reads a document that was parsed: `{"policies": […]}` or `{"slas": […]}`.
pub fn document(document: Json) -> Result<Policies, LoadError> {
    let wanted = "document with the one member `policies`, or `slas`, a list";
    let mut members = match document {
        Json::Object(members) => members.into_iter(),
        _ => return Err(whole(&format!("this is no {wanted}"))),
    };
    match (members.next(), members.next()) {
        (Some((name, Json::Array(items))), None) if name == "policies" => list(&name, items),
        (Some((name, Json::Array(items))), None) if name == "slas" => read(&name, items, sla::read),
        _ => Err(whole(&format!("this is no {wanted}"))),
    }
}

/// Reads a list of policies that is part of another document, where its name is `place`.
pub fn list(place: &str, items: Vec<Json>) -> Result<Policies, LoadError> {
    read(place, items, policy::read)
}

type Faults = Vec<Fault>;

fn read(place: &str, items: Vec<Json>, read: impl Fn(Json) -> Result<Policy, Faults>) -> Result<Policies, LoadError> {
    let (mut policies, mut faults) = (Vec::new(), Vec::new());
    for (at, item) in items.into_iter().enumerate() {
        let below = |fault: Fault| Fault { place: join(&format!("{place}[{at}]"), &fault.place), ..fault };
        match read(item) {
            Ok(policy) => policies.push(policy),
            Err(found) => faults.extend(found.into_iter().map(below)),
        }
    }
    if !faults.is_empty() {
        return Err(LoadError { faults });
    }
    Policies::new(policies).map_err(|error| LoadError {
        faults: vec![Fault { place: format!("{place}[{}].id", error.place), message: error.to_string() }],
    })
}

/// Reads one item by its shape; the place in the fault is below the item.
fn shape<T: DeserializeOwned>(item: Json) -> Result<T, Faults> {
    if !item.is_object() {
        return Err(vec![Fault { place: String::new(), message: "this is no object with members".to_owned() }]);
    }
    serde_path_to_error::deserialize(item).map_err(|error| {
        let place = error.path().to_string();
        let place = if place == "." { String::new() } else { place };
        vec![Fault { place, message: error.into_inner().to_string() }]
    })
}

fn whole(message: &impl fmt::Display) -> LoadError {
    LoadError { faults: vec![Fault { place: String::new(), message: message.to_string() }] }
}

fn join(above: &str, below: &str) -> String {
    match below {
        "" => above.to_owned(),
        _ if below.starts_with('[') => format!("{above}{below}"),
        _ => format!("{above}.{below}"),
    }
}

/// A value that was parsed, or a fault at `place` in the list.
fn keep<T, E: fmt::Display>(faults: &mut Faults, place: &str, read: Result<T, E>) -> Option<T> {
    read.map_err(|error| faults.push(Fault { place: place.to_owned(), message: error.to_string() })).ok()
}

#[cfg(test)]
mod tests;
