//! Deserializes a section of the tree. After an error it continues without the wrong value, so that all errors are
//! reported together.

pub(super) mod wording;

use std::collections::{BTreeMap, BTreeSet};

use dripfeed_job::expected;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use serde_path_to_error::Segment;

use super::config_error::{ConfigError, ConfigErrors};
use super::tree::{self, Step, Tree};
use crate::nearest::suggestion;

pub(super) struct Reader<'a> {
    pub(super) tree: &'a Tree,
    errors: &'a mut ConfigErrors,
    /// What texts from where everything is text were read as.
    typed: TypedValues,
}

pub(super) type TypedValues = BTreeMap<Vec<Step>, Json>;

impl<'a> Reader<'a> {
    pub(super) fn new(tree: &'a Tree, errors: &'a mut ConfigErrors) -> Self {
        Self { tree, errors, typed: BTreeMap::new() }
    }

    pub(super) fn refuse_unknown_sections(&mut self, known: &[&str]) {
        for name in self.tree.sections() {
            if !known.contains(&name.as_str()) {
                let suggestion = suggestion(&name, known.iter().copied());
                let message = format!("unknown section{suggestion}: use {}", known.join(", "));
                self.error(&[Step::Key(name)], message);
            }
        }
    }

    /// Something is wrong with what stands at `path`.
    pub(super) fn error(&mut self, path: &[Step], message: impl Into<String>) {
        let key = Some(tree::shown(path));
        self.errors.push(ConfigError { origin: self.tree.origin(path), key, message: message.into() });
    }

    /// The value; or, when something is wrong with it, an error at `path`.
    pub(super) fn accept<T>(&mut self, path: &[Step], result: Result<T, impl Into<String>>) -> Option<T> {
        result.map_err(|message| self.error(path, message)).ok()
    }

    /// The value; or all that is wrong with it.
    pub(super) fn accept_or_all<T>(&mut self, path: &[Step], result: Result<T, Vec<String>>) -> Option<T> {
        result.map_err(|messages| messages.into_iter().for_each(|message| self.error(path, message))).ok()
    }

    pub(super) fn into_typed(self) -> TypedValues {
        self.typed
    }

    /// Whether something is wrong with this value, or in it.
    pub(super) fn has_errors_in(&self, path: &[Step]) -> bool {
        let above = tree::shown(path);
        let is_in =
            |key: &str| key.strip_prefix(&above).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        self.errors.iter().any(|error| error.key.as_deref().is_some_and(is_in))
    }

    /// How many errors there are by now.
    pub(super) fn count(&self) -> usize {
        self.errors.len()
    }

    /// A whole section of the tree.
    pub(super) fn section<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let path = [Step::from(name)];
        self.value(&SectionPath::only(&path), self.tree.json(&path), &self.tree.default_json(&path))
    }

    /// `json`, which stands at `place`; instead of a value that is wrong stands the one of `fallback`.
    pub(super) fn value<T: DeserializeOwned>(
        &mut self,
        place: &SectionPath<'_>,
        mut json: Json,
        fallback: &Json,
    ) -> Option<T> {
        let mut typed = BTreeSet::new();
        let mut repaired = BTreeSet::new();
        let (mut removed, mut lists) = (Vec::new(), Vec::new());
        lists_for_tables(&mut json, fallback, &[], &mut lists);
        for list in &lists {
            self.error(&place.of(self.tree, list), "must be a table, not a list");
        }
        loop {
            let error = match serde_path_to_error::deserialize::<_, T>(&json) {
                Ok(value) => return Some(value),
                Err(error) => error,
            };
            let below: Vec<Step> = error.path().iter().filter_map(step).collect();
            let written = as_written(&removed, &below);
            let whole = place.of(self.tree, &written);
            if self.tree.is_untyped(&whole)
                && typed.insert(written.clone())
                && let Some(value) = give_type(&mut json, &below)
            {
                self.typed.insert(whole, value);
                continue;
            }
            let message = error.inner().to_string();
            // What was taken out isn't missing.
            if !is_repaired(&repaired, &written, &message) {
                let values = values::<T>(&json, &below);
                self.error(&whole, wording::plain(&message, values.as_deref()));
            }
            if !repaired.insert(written) || !repair(&mut json, fallback, &below) {
                return None;
            }
            if let Some(Step::Index(_)) = below.last() {
                removed.push(below);
            }
        }
    }
}

/// Where a typed section stands in the tree: at `path`; or, key by key, at `otherwise` when it isn't there.
pub(super) struct SectionPath<'a> {
    pub(super) path: &'a [Step],
    pub(super) otherwise: Option<&'a [Step]>,
}

impl<'a> SectionPath<'a> {
    pub(super) fn only(path: &'a [Step]) -> Self {
        Self { path, otherwise: None }
    }

    /// The path in the tree of what stands `below` here.
    pub(super) fn of(&self, tree: &Tree, below: &[Step]) -> Vec<Step> {
        let join = |path: &[Step]| path.iter().chain(below).cloned().collect::<Vec<Step>>();
        let here = join(self.path);
        let there = self.otherwise.map(join).filter(|there| !tree.has(&here) && tree.has(there));
        there.unwrap_or(here)
    }

    pub(super) fn key(&self, tree: &Tree, key: &str) -> Vec<Step> {
        self.of(tree, &[key.into()])
    }
}

fn step(segment: &Segment) -> Option<Step> {
    match segment {
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

/// Whether what is missing `below` was there, and wrong.
fn is_repaired(repaired: &BTreeSet<Vec<Step>>, below: &[Step], message: &str) -> bool {
    let field = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    field.is_some_and(|field| repaired.contains(&[below, &[field.into()]].concat()))
}

/// The values that a setting may have, if it has a fixed list of them: the error for an empty text lists them. None: it
/// has no list, or the value is a text.
fn values<T: DeserializeOwned>(json: &Json, path: &[Step]) -> Option<String> {
    let mut probe = json.clone();
    let place = find(&mut probe, path).filter(|value| !value.is_string())?;
    *place = Json::from("");
    let error = serde_path_to_error::deserialize::<_, T>(&probe).err()?;
    let is_there = error.path().iter().filter_map(step).eq(path.iter().cloned());
    let message = expected::plain(&error.inner().to_string());
    wording::unknown_variant(&message).filter(|_| is_there).map(|(_, list)| list.to_owned())
}

/// Replaces lists where there are tables by the fallback's tables, because serde reads them as the values of a table in
/// the order of its keys. `found`: their places.
fn lists_for_tables(json: &mut Json, fallback: &Json, path: &[Step], found: &mut Vec<Vec<Step>>) {
    match (json, fallback) {
        (json @ Json::Array(_), Json::Object(_)) => {
            json.clone_from(fallback);
            found.push(path.to_vec());
        }
        (Json::Object(table), Json::Object(fallback)) => {
            for (key, value) in table {
                let Some(below) = fallback.get(key) else { continue };
                lists_for_tables(value, below, &[path, &[Step::Key(key.clone())]].concat(), found);
            }
        }
        _ => {}
    }
}

/// Reads the text at `path` as TOML. None: that gives nothing else.
fn give_type(json: &mut Json, path: &[Step]) -> Option<Json> {
    let place = find(json, path)?;
    let typed = place.as_str().and_then(tree::typed)?;
    place.clone_from(&typed);
    Some(typed)
}

/// Puts the fallback's value at `path`, or takes out what the fallback doesn't have. False: nothing can be done.
fn repair(json: &mut Json, fallback: &Json, path: &[Step]) -> bool {
    let Some((last, parents)) = path.split_last() else { return false };
    let Some(parent) = find(json, parents) else { return false };
    match (parent, last) {
        (Json::Object(table), Step::Key(key)) => match peek(fallback, path) {
            Some(default) => table.insert(key.clone(), default.clone()).is_some(),
            None => table.remove(key).is_some(),
        },
        (Json::Array(list), Step::Index(index)) if *index < list.len() => {
            list.remove(*index);
            true
        }
        _ => false,
    }
}

/// Where something stands that is at `path` since these items were removed from their lists, one after the other.
fn as_written(removed: &[Vec<Step>], path: &[Step]) -> Vec<Step> {
    let mut path = path.to_vec();
    for item in removed.iter().rev() {
        let Some((Step::Index(gone), list)) = item.split_last() else { continue };
        if !path.starts_with(list) {
            continue;
        }
        if let Some(Step::Index(index)) = path.get_mut(list.len()) {
            *index += usize::from(*index >= *gone);
        }
    }
    path
}

fn find<'a>(json: &'a mut Json, path: &[Step]) -> Option<&'a mut Json> {
    path.iter().try_fold(json, |json, step| match step {
        Step::Key(key) => json.get_mut(key),
        Step::Index(index) => json.get_mut(index),
    })
}

fn peek<'a>(json: &'a Json, path: &[Step]) -> Option<&'a Json> {
    path.iter().try_fold(json, |json, step| match step {
        Step::Key(key) => json.get(key),
        Step::Index(index) => json.get(index),
    })
}
