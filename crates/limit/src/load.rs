//! Parses policies from files and requests: `policies`, or the published `slas`. Errors list all faults with their
//! places; if there are any, nothing is loaded.
//!
//! ```
//! let policies = dripfeed_limit::load::yaml(
//!     "
//! policies:
//!   - id: write                     # names the counters: the same id keeps them when policies are replaced
//!     match: { methods: [PUT, POST], path: '/v1/{org}/**' }   # of those with the same key, the most specific applies
//!     key: [caller, 'path:org']     # a counter for each; also tenant, ip, endpoint, header:<name>, path:<variable>
//!     cost: { header: x-cost }      # of a request; or a number; 1 by default
//!     tiers:                        # each must allow the request; if one refuses, none is charged
//!       - { kind: bucket, rate: 10/s, burst: 20 }
//!       - { kind: gate, period: 20ms }                        # at most one in each period
//!       - { kind: fixed, limit: 10000, period: day, align: calendar(Europe/Berlin) }
//!       - { kind: sliding, limit: 400, period: 1m }
//!       - { kind: log, limit: 30, period: 1s, min_gap: 5ms, count_denied: false }
//!       - { kind: concurrent, limit: 4, lease: 1m }           # returned by `Limiter::release`, or after the lease
//!     mode: enforce                 # or shadow: counts and refuses nothing; off
//!     on_store_error: local         # without Redis: closed (503, the default), open, or this replica's share
//!     message: slow down
//!     max_scopes: 262144            # counters for values that requests choose; beyond that, values share counters
//!   - id: read
//!     match: { methods: [GET] }
//!     key: [caller]
//!     consistency: async            # strict, the default; leased; or async: counted here, reported every `sync`
//!     sync: 1s
//!     tiers: [{ kind: fixed, limit: 1000, period: 1m }]
//! ",
//! )?;
//! # assert_eq!(policies.iter().count(), 2);
//! # Ok::<(), dripfeed_limit::LoadError>(())
//! ```

mod pace;
mod policy;
mod sla;

pub use crate::kinds::FIXED_ALIGN;
pub use crate::policy::calendar::{CALENDAR_PERIODS, CALENDAR_RATE};

use std::collections::HashSet;
use std::fmt;

use dripfeed_job::{expected, unique_members};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use serde_path_to_error::Segment;
use serde_saphyr::UserMessageFormatter;
use thiserror::Error;

use crate::kinds;
use crate::policy::matching::{BadMatch, Match};
use crate::policy::policies::{DuplicateId, Policies};
use crate::policy::tier::Tier;
use crate::policy::{self as rules, BadPolicy, Policy, PolicyFault, PolicyId, PolicySettings};

/// All faults in a list of policies.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub struct LoadError {
    faults: Vec<LoadFault>,
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadFault {
    /// Such as `policies[0].tiers[1].period`; empty for the document as a whole.
    pub place: String,
    pub message: String,
}

impl LoadError {
    /// Creates an error for faults that further checks of policies have found.
    #[must_use]
    pub const fn new(faults: Vec<LoadFault>) -> Self {
        Self { faults }
    }

    pub fn faults(&self) -> &[LoadFault] {
        &self.faults
    }
}

impl fmt::Display for LoadError {
    /// One fault per line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, LoadFault { place, message }) in self.faults.iter().enumerate() {
            let line = if at == 0 { "" } else { "\n" };
            let colon = if place.is_empty() { "" } else { ": " };
            write!(f, "{line}{place}{colon}{message}")?;
        }
        Ok(())
    }
}

/// Parses policies from a YAML document.
///
/// # Errors
/// When it isn't YAML; otherwise all faults with their places.
pub fn yaml(text: &str) -> Result<Policies, LoadError> {
    document(parse_yaml(text)?)
}

/// Parses a YAML document without checking that it contains policies. As in YAML 1.2, `off` and `no` are strings, not
/// `false`.
///
/// # Errors
/// When it isn't YAML.
pub fn parse_yaml(text: &str) -> Result<Json, LoadError> {
    let options = serde_saphyr::options! { strict_booleans: true };
    let message = |error: serde_saphyr::Error| error.render_with_formatter(&UserMessageFormatter);
    serde_saphyr::from_str_with_options(text, options).map_err(|error| whole(&first_line(&message(error))))
}

/// The first line of the parser's message. The others show lines of the document, which may contain secrets.
fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default().trim_start_matches("error: ")
}

/// Parses policies from a TOML document.
///
/// # Errors
/// As [`yaml`].
pub fn toml(text: &str) -> Result<Policies, LoadError> {
    document(toml::from_str(text).map_err(|error| whole(&error))?)
}

/// Parses policies from a JSON document.
///
/// # Errors
/// As [`yaml`].
pub fn json(text: &str) -> Result<Policies, LoadError> {
    document(unique_members::from_str(text).map_err(|error| whole(&error))?)
}

/// Parses policies from a value: `{"policies": […]}` or `{"slas": […]}`.
///
/// # Errors
/// Every fault with its place.
pub fn document(document: Json) -> Result<Policies, LoadError> {
    let (name, items) = only_list(document)?;
    match name.as_str() {
        "policies" => list(&name, items),
        "slas" => read(&name, items, |item| checked(item, sla::read, &|_| Vec::new())),
        _ => Err(no_document()),
    }
}

/// Converts `{"slas": […]}` to `{"policies": […]}`. Items that can't be converted are left unchanged.
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

/// Parses a list of policies in another document, where its name is `place`.
///
/// # Errors
/// Every fault with its place.
pub fn list(place: &str, items: Vec<Json>) -> Result<Policies, LoadError> {
    list_with_checks(place, items, |_| Vec::new())
}

/// As [`list`], with `further` checks of each policy, whose places are relative to it. They see the default of a member
/// that couldn't be parsed.
///
/// # Errors
/// Every fault with its place.
pub fn list_with_checks(
    place: &str,
    items: Vec<Json>,
    further: impl Fn(&PolicySettings) -> Vec<LoadFault>,
) -> Result<Policies, LoadError> {
    read(place, items, |item| checked(item, policy::read, &further))
}

/// Parses the tiers of a pace, a list in another document, where its name is `place`. A pace has one scope, so its
/// kinds are `bucket`, `gate`, and `fixed` without a spread.
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
    let mut faults = duplicates(place, &items);
    let mut policies = Vec::new();
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
    Policies::new(policies).map_err(|error| LoadError { faults: vec![duplicate(place, &error)] })
}

/// A fault for each id that an earlier policy has, also if the policies are invalid.
fn duplicates(place: &str, items: &[Json]) -> LoadFaults {
    let mut ids = HashSet::new();
    let duplicates = items.iter().enumerate().filter_map(|(at, item)| {
        let id: PolicyId = item.get("id")?.as_str()?.parse().ok()?;
        (!ids.insert(id.clone())).then_some(DuplicateId { id, place: at })
    });
    duplicates.map(|error| duplicate(place, &error)).collect()
}

fn duplicate(place: &str, error: &DuplicateId) -> LoadFault {
    LoadFault { place: format!("{place}[{}].id", error.place), message: error.to_string() }
}

/// Parses one policy and checks its settings against each other, except for faults that only follow from a member that
/// couldn't be parsed.
fn checked(
    item: Json,
    read: impl Fn(Json, &mut LoadFaults) -> Option<PolicySettings>,
    further: &dyn Fn(&PolicySettings) -> Vec<LoadFault>,
) -> Result<Policy, LoadFaults> {
    let mut faults = LoadFaults::new();
    let Some(settings) = read(item, &mut faults) else { return Err(faults) };
    let is_unread = |place: &str| faults.iter().any(|fault| fault.place.starts_with(place));
    let broken = rules::faults_of(&settings).into_iter().filter(|fault| match fault {
        PolicyFault::UnknownVariable { .. } => !is_unread("match") && !is_unread(&fault.place()),
        PolicyFault::SpreadNotInKey { .. } => !is_unread("key") && !is_unread(&fault.place()),
        _ => !is_unread(&fault.place()),
    });
    let broken: LoadFaults =
        broken.map(|fault| LoadFault { place: fault.place(), message: fault.to_string() }).collect();
    faults.extend(broken.into_iter().chain(further(&settings)));
    if !faults.is_empty() {
        return Err(faults);
    }
    let fault = |bad: BadPolicy| vec![LoadFault { place: String::new(), message: bad.to_string() }];
    Policy::new(settings).map_err(fault)
}

/// Parses one tier. The places of faults are relative to it.
fn tier(item: Json) -> Result<Tier, LoadFaults> {
    let mut faults = LoadFaults::new();
    let raw: Option<kinds::Raw> = members(item, &mut faults);
    let is_kind_unread = faults.iter().any(|fault| fault.place == "kind");
    let Some(raw) = raw.filter(|_| !is_kind_unread) else { return Err(faults) };
    let fault = |message| LoadFault { place: String::new(), message };
    if faults.is_empty() {
        return kinds::read(&raw).map_err(|messages| messages.into_iter().map(fault).collect());
    }
    faults.extend(kinds::misplaced(&raw).into_iter().map(fault));
    Err(faults)
}

/// Parses the match of a policy, with a fault for each invalid method and for an invalid path.
fn matching(methods: &[String], path: Option<&str>, faults: &mut LoadFaults) -> Option<Match> {
    let fault = |error: BadMatch| LoadFault { place: "match".to_owned(), message: error.to_string() };
    let whole = match Match::new(methods, path) {
        Ok(matching) => return Some(matching),
        Err(error @ BadMatch::ManyMethods(_)) => vec![error],
        Err(_) => {
            let methods = methods.iter().map(|method| Match::new(&[method], None));
            methods.chain([Match::new::<&str>(&[], path)]).filter_map(Result::err).collect()
        }
    };
    faults.extend(whole.into_iter().map(fault));
    None
}

/// Maximum number of malformed members in one item; after more of them, parsing stops.
const MAX_MALFORMED: usize = 32;

/// Deserializes the members of one item. Malformed ones are faults, and are removed. Returns `None` if the item can't
/// be deserialized without them.
fn members<T: DeserializeOwned>(mut item: Json, faults: &mut LoadFaults) -> Option<T> {
    if !item.is_object() {
        faults.push(LoadFault { place: String::new(), message: "not an object".to_owned() });
        return None;
    }
    let mut removed = Vec::new();
    for _ in 0..MAX_MALFORMED {
        let error = match serde_path_to_error::deserialize(&item) {
            Ok(read) => return Some(read),
            Err(error) => error,
        };
        let place = error.path().to_string();
        let place = if place == "." { String::new() } else { place };
        let steps = error.path().iter().map_while(|step| match step {
            Segment::Map { key } => Some(key.clone()),
            _ => None,
        });
        let steps: Vec<String> = steps.collect();
        let message = error.into_inner().to_string();
        let is_removed = |name: &String| message == format!("missing field `{name}`");
        if !removed.iter().any(is_removed) {
            faults.push(LoadFault { place, message: expected::plain(&message) });
        }
        removed.push(remove(&mut item, &steps)?);
    }
    None
}

/// Removes a member, and returns its name.
fn remove(item: &mut Json, steps: &[String]) -> Option<String> {
    let (last, above) = steps.split_last()?;
    let above = above.iter().try_fold(item, |item, step| item.get_mut(step))?;
    above.as_object_mut()?.remove(last).map(|_| last.clone())
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

/// Checks the length of a list before its items are parsed.
fn is_too_many(faults: &mut LoadFaults, most: usize, place: &str, what: &str, count: usize) -> bool {
    if count > most {
        let message = format!("{count} {what}: use at most {most}");
        faults.push(LoadFault { place: place.to_owned(), message });
    }
    count > most
}

/// Returns a parsed value, or adds a fault at `place`.
fn keep<T, E: fmt::Display>(faults: &mut LoadFaults, place: &str, read: Result<T, E>) -> Option<T> {
    read.map_err(|error| faults.push(LoadFault { place: place.to_owned(), message: error.to_string() })).ok()
}

#[cfg(test)]
mod tests;
