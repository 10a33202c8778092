//! The body of `PATCH …`, parsed with the table of settings that can be changed at run time.

use std::fmt;

use dripfeed_bucket::{BadSetting, Overrides, RUN_TIME_SETTINGS, RunTimeSetting};
use dripfeed_limit::{LoadError, LoadFault};
use serde::de::{DeserializeSeed, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;
use utoipa::ToSchema;

use crate::openapi::formats;
use crate::problem::{Code, Problem};
use crate::request::json;

/// An omitted member changes nothing.
#[derive(Debug, Default)]
pub(crate) struct Patch {
    overrides: Overrides,
    pace: Target,
    /// Errors in items of lists, with their paths.
    faults: Vec<LoadFault>,
}

/// The name of `leak.rate` in GET.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Target {
    /// `none`: no limit.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<formats::RateOrNone>, inline)]
    target: Option<Option<Json>>,
}

#[derive(Deserialize)]
struct Pace(#[serde(deserialize_with = "json::object")] Target);

impl Patch {
    pub(crate) fn overrides(self) -> Result<Overrides, Problem> {
        if !self.faults.is_empty() {
            return Err(Problem::faults(Code::BadMember, &LoadError::new(self.faults)));
        }
        let Some(rate) = self.pace.target else { return Ok(self.overrides) };
        let refused = |why: BadSetting| Problem::bad_member("pace.target", &why.to_string());
        let target = Overrides::of("leak.rate", rate.unwrap_or_default()).map_err(refused)?;
        let both = self.overrides.clone().and(target);
        if self.overrides.has("leak.rate") && both != self.overrides {
            let why = "is the same setting as leak.rate; set one of the two";
            return Err(Problem::bad_member("pace.target", why));
        }
        Ok(both)
    }
}

impl<'de> Deserialize<'de> for Patch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut patch = Self::default();
        Section { name: "", patch: &mut patch }.deserialize(deserializer)?;
        Ok(patch)
    }
}

/// An object of settings: the body, or a section in it.
struct Section<'a> {
    /// Empty for the body.
    name: &'static str,
    patch: &'a mut Patch,
}

#[derive(Clone, Copy)]
enum Member {
    Setting(&'static RunTimeSetting),
    Section(&'static str),
    Pace,
}

impl<'de> DeserializeSeed<'de> for Section<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Section<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let patch = self.patch;
        while let Some(member) = map.next_key_seed(MemberOf(self.name))? {
            match member {
                Member::Setting(setting) => map.next_value_seed(Value { setting, patch })?,
                Member::Section(name) => map.next_value_seed(Section { name, patch })?,
                Member::Pace => patch.pace = map.next_value::<Pace>()?.0,
            }
        }
        Ok(())
    }
}

/// The name of a member of this section.
struct MemberOf(&'static str);

impl<'de> DeserializeSeed<'de> for MemberOf {
    type Value = Member;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Member, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = members(self.0);
        let found = known.iter().find_map(|(known, member)| (*known == name).then_some(*member));
        found.ok_or_else(|| {
            let known: Vec<String> = known.iter().map(|(known, _)| format!("`{known}`")).collect();
            D::Error::custom(format!("unknown field `{name}`, expected one of {}", known.join(", ")))
        })
    }
}

fn members(section: &str) -> Vec<(&'static str, Member)> {
    let mut members = Vec::new();
    for setting in &RUN_TIME_SETTINGS {
        match setting.place() {
            (of, name) if of == section => members.push((name, Member::Setting(setting))),
            (of, _) if section.is_empty() && !members.iter().any(|(known, _)| *known == of) => {
                members.push((of, Member::Section(of)));
            }
            _ => {}
        }
    }
    if section.is_empty() {
        members.push(("pace", Member::Pace));
    }
    members
}

struct Value<'a> {
    setting: &'static RunTimeSetting,
    patch: &'a mut Patch,
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let (setting, patch) = (self.setting, self.patch);
        if patch.overrides.has(setting.name) {
            return Err(D::Error::custom(format!("duplicate field `{}`", setting.place().1)));
        }
        let value = Json::deserialize(deserializer)?;
        match patch.overrides.set(setting, value) {
            Ok(()) => {}
            // The parser adds the path.
            Err(BadSetting::Value(why)) => return Err(D::Error::custom(why)),
            Err(BadSetting::Parts(error)) => patch.faults.extend_from_slice(error.faults()),
        }
        Ok(())
    }
}

/// Distinguishes `null` from an omitted member.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests;
