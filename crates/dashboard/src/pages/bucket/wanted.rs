//! The changes that a form or a link requests, and whether the settings are still those that the form showed.

use std::collections::BTreeMap;

use http::StatusCode;
use maud::{Markup, html};
use serde_json::Value;

use crate::model::setting::Setting;
use crate::parts::action::TOKEN;
use crate::web::api::escaped;
use crate::web::failure::Failure;

pub(super) type Wanted = BTreeMap<String, String>;

/// The prefix of the field with the value that a form showed, as JSON. The name of the setting follows.
const SHOWN: &str = "shown:";
/// The field with the name of the setting whose configured value is restored.
pub(super) const RESTORE: &str = "restore";

/// A requested change of a setting.
pub(super) struct Change<'s> {
    pub(super) setting: &'s Setting,
    pub(super) to: Value,
    /// `None`: the configured value is restored.
    pub(super) typed: Option<&'s str>,
    /// The value that the form showed, if somebody has changed the setting since.
    pub(super) stale: Option<Value>,
}

/// The requested changes, in the order of the settings.
///
/// # Errors
/// When a value is invalid.
pub(super) fn changes<'s>(settings: &'s [Setting], wanted: &'s Wanted) -> Result<Vec<Change<'s>>, Failure> {
    let restored = field(wanted, RESTORE);
    let mut changes = Vec::new();
    for setting in settings {
        let typed = field(wanted, &setting.name);
        let to = match typed {
            Some(typed) => setting.parsed(typed).map_err(|why| refused(&why))?,
            None if restored == Some(setting.name.as_str()) => setting.configured.clone(),
            None => continue,
        };
        let stale = shown_value(wanted, setting).filter(|shown| *shown != setting.value && to != setting.value);
        changes.push(Change { setting, to, typed, stale });
    }
    Ok(changes)
}

/// A field that isn't empty.
fn field<'w>(wanted: &'w Wanted, name: &str) -> Option<&'w str> {
    wanted.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
}

/// The value that the form showed; `None` for a link or a program.
fn shown_value(wanted: &Wanted, setting: &Setting) -> Option<Value> {
    serde_json::from_str(field(wanted, &format!("{SHOWN}{}", setting.name))?).ok()
}

/// The query for the same changes, with the shown values only of the changed settings.
pub(super) fn query(wanted: &Wanted) -> String {
    let is_asked = |name: &str| match name.strip_prefix(SHOWN) {
        Some(of) => field(wanted, of).is_some() || field(wanted, RESTORE) == Some(of),
        None => name != TOKEN && field(wanted, name).is_some(),
    };
    let fields = wanted.iter().filter(|(name, _)| is_asked(name));
    let fields: Vec<String> = fields.map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
    fields.join("&")
}

fn refused(why: &str) -> Failure {
    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Nothing was changed", why)
}

/// The hidden field with the value that a form shows.
pub(super) fn showing(setting: &Setting) -> Markup {
    html! { input type="hidden" name={ (SHOWN) (setting.name) } value=(setting.value); }
}

impl Change<'_> {
    /// The hidden fields that request this change again, with the current value as shown.
    pub(super) fn fields(&self) -> Markup {
        let (name, value) =
            self.typed.map_or((RESTORE, self.setting.name.as_str()), |typed| (&self.setting.name, typed));
        html! {
            (showing(self.setting))
            input type="hidden" name=(name) value=(value);
        }
    }
}
