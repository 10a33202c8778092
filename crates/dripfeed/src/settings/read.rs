//! Deserializes a section of the tree. After an error it continues without the invalid value, so that all errors are
//! reported together.

pub(super) mod wording;

use std::collections::{BTreeMap, BTreeSet};

use dripfeed_job::expected;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use serde_path_to_error::Segment;

use super::config_error::{ConfigError, ConfigErrors};
use super::layers::misnamed;
use super::tree::{self, Step, Tree};
use crate::did_you_mean::suggestion;

pub(super) struct Reader<'a> {
    pub(super) tree: &'a Tree,
    errors: &'a mut ConfigErrors,
    /// The typed values of texts from the environment and from arguments.
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
                let message = match self.setting_meant_by_section(&name) {
                    Some(setting) => format!("unknown section: name the variable {setting}"),
                    None => {
                        let suggestion = suggestion(&name, known.iter().copied());
                        format!("unknown section{suggestion}: use {}", known.join(", "))
                    }
                };
                self.error(&[Step::Key(name)], message);
            }
        }
    }

    /// Returns the right name of an environment variable with one underscore between section and key.
    fn setting_meant_by_section(&self, name: &str) -> Option<String> {
        let origin = self.tree.origin(&[name.into()])?;
        misnamed::setting_meant_by(&origin, &self.tree.defaults)
    }

    /// Adds an error about the value at `path`.
    pub(super) fn error(&mut self, path: &[Step], message: impl Into<String>) {
        let key = Some(tree::shown(path));
        self.errors.push(ConfigError { origin: self.tree.origin(path), key, message: message.into() });
    }

    /// Returns the value, or adds the error at `path`.
    pub(super) fn accept<T>(&mut self, path: &[Step], result: Result<T, impl Into<String>>) -> Option<T> {
        result.map_err(|message| self.error(path, message)).ok()
    }

    /// Returns the value, or adds all errors at `path`.
    pub(super) fn accept_or_all<T>(&mut self, path: &[Step], result: Result<T, Vec<String>>) -> Option<T> {
        result.map_err(|messages| messages.into_iter().for_each(|message| self.error(path, message))).ok()
    }

    pub(super) fn into_typed(self) -> TypedValues {
        self.typed
    }

    /// Returns whether there are errors at `path` or below it.
    pub(super) fn has_errors_in(&self, path: &[Step]) -> bool {
        let above = tree::shown(path);
        let is_in =
            |key: &str| key.strip_prefix(&above).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        self.errors.iter().any(|error| error.key.as_deref().is_some_and(is_in))
    }

    /// Returns the number of errors so far.
    pub(super) fn count(&self) -> usize {
        self.errors.len()
    }

    /// Deserializes a section of the tree.
    pub(super) fn section<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let path = [Step::from(name)];
        self.value(&SectionPath::only(&path), self.tree.json(&path), &self.tree.default_json(&path))
    }

    /// Deserializes `json`, which is at `place`. Replaces invalid values with those of `fallback`.
    pub(super) fn value<T: DeserializeOwned>(
        &mut self,
        place: &SectionPath<'_>,
        mut json: Json,
        fallback: &Json,
    ) -> Option<T> {
        let mut typed = BTreeSet::new();
        let mut repaired = BTreeSet::new();
        let (mut removed, mut lists) = (Vec::new(), Vec::new());
        replace_lists(&mut json, fallback, &[], &mut lists);
        for list in &lists {
            self.error(&place.of(self.tree, list), "must be a table, not a list");
        }
        loop {
            let error = match serde_path_to_error::deserialize::<_, T>(&json) {
                Ok(value) => return Some(value),
                Err(error) => error,
            };
            let below: Vec<Step> = error.path().iter().filter_map(step).collect();
            let original = original_path(&removed, &below);
            let whole = place.of(self.tree, &original);
            if self.tree.is_untyped(&whole)
                && typed.insert(original.clone())
                && let Some(value) = parse_in_place(&mut json, &below)
            {
                self.typed.insert(whole, value);
                continue;
            }
            let message = error.inner().to_string();
            // A value that was removed isn't missing.
            if !is_repaired(&repaired, &original, &message) {
                let allowed = allowed_values::<T>(&json, &below);
                self.error(&whole, wording::plain(&message, allowed.as_deref()));
            }
            if !repaired.insert(original) || !repair(&mut json, fallback, &below) {
                return None;
            }
            if let Some(Step::Index(_)) = below.last() {
                removed.push(below);
            }
        }
    }
}

/// The path of a section in the tree. Keys that aren't set at `path` are looked up at `fallback`.
pub(super) struct SectionPath<'a> {
    pub(super) path: &'a [Step],
    pub(super) fallback: Option<&'a [Step]>,
}

impl<'a> SectionPath<'a> {
    pub(super) fn only(path: &'a [Step]) -> Self {
        Self { path, fallback: None }
    }

    /// Returns the path in the tree of the value `below` this section.
    pub(super) fn of(&self, tree: &Tree, below: &[Step]) -> Vec<Step> {
        let join = |path: &[Step]| path.iter().chain(below).cloned().collect::<Vec<Step>>();
        let path = join(self.path);
        let fallback = self.fallback.map(join).filter(|fallback| !tree.has(&path) && tree.has(fallback));
        fallback.unwrap_or(path)
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

/// Whether `message` is about a missing field that was invalid and removed.
fn is_repaired(repaired: &BTreeSet<Vec<Step>>, below: &[Step], message: &str) -> bool {
    let field = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    field.is_some_and(|field| repaired.contains(&[below, &[field.into()]].concat()))
}

/// Returns the list of allowed values of an enumeration, found in the error for an empty text. Returns `None` for other
/// settings, and if the value is a text.
fn allowed_values<T: DeserializeOwned>(json: &Json, path: &[Step]) -> Option<String> {
    let mut probe = json.clone();
    let place = find(&mut probe, path).filter(|value| !value.is_string())?;
    *place = Json::from("");
    let error = serde_path_to_error::deserialize::<_, T>(&probe).err()?;
    let is_at_path = error.path().iter().filter_map(step).eq(path.iter().cloned());
    let message = expected::plain(&error.inner().to_string());
    wording::unknown_variant(&message).filter(|_| is_at_path).map(|(_, list)| list.to_owned())
}

/// Replaces lists that should be tables with the fallback's tables, because serde would read a list as the values of a
/// table in the order of its fields. Adds their paths to `found`.
fn replace_lists(json: &mut Json, fallback: &Json, path: &[Step], found: &mut Vec<Vec<Step>>) {
    match (json, fallback) {
        (json @ Json::Array(_), Json::Object(_)) => {
            json.clone_from(fallback);
            found.push(path.to_vec());
        }
        (Json::Object(table), Json::Object(fallback)) => {
            for (key, value) in table {
                let Some(below) = fallback.get(key) else { continue };
                replace_lists(value, below, &[path, &[Step::Key(key.clone())]].concat(), found);
            }
        }
        _ => {}
    }
}

/// Replaces the text at `path` with its value in TOML. Returns `None` if it is a text in TOML, too.
fn parse_in_place(json: &mut Json, path: &[Step]) -> Option<Json> {
    let place = find(json, path)?;
    let typed = place.as_str().and_then(tree::typed)?;
    place.clone_from(&typed);
    Some(typed)
}

/// Replaces the value at `path` with the fallback's, or removes it if the fallback has none. Returns `false` if neither
/// is possible.
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

/// Converts a path after the removal of list items, in this order, into the path before it.
fn original_path(removed: &[Vec<Step>], path: &[Step]) -> Vec<Step> {
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
