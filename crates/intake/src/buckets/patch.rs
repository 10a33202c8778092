//! The body of `PATCH …`, read by the table of the settings that can be changed at run time.

use std::fmt;

use dripfeed_bucket::{BadSetting, Overrides, RUN_TIME_SETTINGS, RunTimeSetting};
use dripfeed_job::Rate;
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
    /// Of parts of lists, with their places.
    faults: Vec<LoadFault>,
}

/// The name of `leak.rate` in GET.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Target {
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<formats::Rate>, inline)]
    target: Option<Option<Rate>>,
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
        let target = Overrides::of("leak.rate", rate.map(|rate| rate.to_string())).map_err(refused)?;
        let both = self.overrides.clone().and(target);
        if self.overrides.has("leak.rate") && both != self.overrides {
            let why = "conflicts with leak.rate, which means the same: set one of the two";
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
    /// Empty: the body.
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
            // The parser knows where it stands.
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
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use serde_json::json;

    use super::*;

    fn changes(text: &str) -> Result<Overrides, Json> {
        let problem = |problem: Problem| serde_json::to_value(&problem).unwrap();
        json::read::<Patch>(text.as_bytes()).and_then(Patch::overrides).map_err(problem)
    }

    #[test]
    fn every_setting_can_be_changed() {
        let text = r#"{"capacity": 50, "capacity_bytes": "64MiB", "max_share": "12.5%",
            "leak": {"rate": "10/s", "burst": 10, "adaptive": false, "concurrency": 5, "max_in_flight": 20}}"#;
        let all = [
            ("capacity", json!(50)),
            ("capacity_bytes", json!(64 << 20)),
            ("max_share", json!("12.5%")),
            ("leak.rate", json!("10/s")),
            ("leak.burst", json!(10)),
            ("leak.adaptive", json!(false)),
            ("leak.concurrency", json!(5)),
            ("leak.max_in_flight", json!(20)),
        ];
        let one = |(name, value)| Overrides::of(name, value).unwrap();
        assert_eq!(changes(text).unwrap(), all.map(one).into_iter().fold(Overrides::default(), Overrides::and));
        assert_eq!(changes(r#"{"capacity_bytes": 1000}"#).unwrap(), one(("capacity_bytes", json!(1000))));
    }

    #[test]
    fn omitted_settings_stay_and_null_restores() {
        assert_eq!(changes("{}").unwrap(), Overrides::default());
        let back = changes(r#"{"capacity": null, "capacity_bytes": null, "pace": {"target": null}}"#).unwrap();
        let restored: Vec<_> = back.iter().map(|(setting, value)| (setting.name, value)).collect();
        assert_eq!(restored, [("capacity", None), ("capacity_bytes", None), ("leak.rate", None)]);
    }

    #[test]
    fn limits_are_accepted_as_a_whole_or_not_at_all() {
        let gate = r#"{"id": "each", "tiers": [{"kind": "gate", "period": "1s"}]}"#;
        let ids = |text: String| {
            let changes = changes(&text).unwrap();
            let limits = changes.iter().find_map(|(_, limits)| limits?.as_array());
            limits
                .map(|limits| limits.iter().map(|policy| policy["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(ids(format!(r#"{{"limits": [{gate}]}}"#)), Some(vec!["each".to_owned()]));
        assert_eq!(ids(format!(r#"{{"limits": {{"policies": [{gate}]}}}}"#)), Some(vec!["each".to_owned()]));
        assert_eq!(ids(r#"{"limits": []}"#.to_owned()), Some(vec![]));
        assert_eq!(ids(r#"{"limits": null}"#.to_owned()), None);
        let open = gate.replace("}]}", "}], \"on_store_error\": \"open\"}");
        for (limits, member) in [
            ("1".to_owned(), "limits"),
            ("{}".to_owned(), "limits"),
            (format!(r#"{{"policies": [{gate}], "more": 1}}"#), "limits"),
            (format!("[{gate}, 7]"), "limits[1]"),
            (format!("[{gate}, {gate}]"), "limits[1].id"),
            (format!(r#"{{"policies": [{open}]}}"#), "limits.policies[0].on_store_error"),
        ] {
            let problem = changes(&format!(r#"{{"limits": {limits}}}"#)).unwrap_err();
            assert_eq!((&problem["status"], &problem["member"]), (&422.into(), &member.into()), "{limits}: {problem}");
        }
    }

    #[test]
    fn the_target_pace_is_the_leak_rate() {
        let rate = changes(r#"{"leak": {"rate": "10/s"}}"#);
        assert_eq!(changes(r#"{"pace": {"target": "10/s"}}"#), rate);
        assert_eq!(changes(r#"{"pace": {"target": "10/s"}, "leak": {"rate": "10/1s"}}"#), rate);
        let both = changes(r#"{"pace": {"target": "10/s"}, "leak": {"rate": "11/s"}}"#).unwrap_err();
        assert_eq!(both["member"], "pace.target");
    }

    #[test]
    fn an_invalid_setting_is_refused_with_its_place() {
        for (text, member) in [
            (r#"{"capacity": 0}"#, "capacity"),
            (r#"{"capacity": -1}"#, "capacity"),
            (r#"{"capacity": 1.5}"#, "capacity"),
            (r#"{"capacity": 9007199254740992}"#, "capacity"),
            (r#"{"capacity_bytes": "64"}"#, "capacity_bytes"),
            (r#"{"capacity_bytes": 0}"#, "capacity_bytes"),
            (r#"{"max_share": "0%"}"#, "max_share"),
            (r#"{"max_share": 25}"#, "max_share"),
            (r#"{"leak": {"rate": "0/s"}}"#, "leak.rate"),
            (r#"{"leak": {"burst": "10"}}"#, "leak.burst"),
            (r#"{"leak": {"concurrency": 0}}"#, "leak.concurrency"),
            (r#"{"leak": {"speed": 1}}"#, "leak.speed"),
            (r#"{"leak": {"adaptive": 1}}"#, "leak.adaptive"),
            (r#"{"leak": {"tiers": 1}}"#, "leak.tiers"),
            (
                r#"{"leak": {"tiers": [{"kind": "gate", "period": "1s"}, {"kind": "log", "rate": "10/s"}]}}"#,
                "leak.tiers[1]",
            ),
            (r#"{"leak": {"tiers": [{"kind": "fixed", "limit": "many", "period": "1s"}]}}"#, "leak.tiers[0].limit"),
            (r#"{"size": 1}"#, "size"),
            (r#"{"leak": ["10/s"]}"#, "leak"),
        ] {
            let problem = changes(text).unwrap_err();
            assert_eq!((&problem["status"], &problem["member"]), (&422.into(), &member.into()), "{text}: {problem}");
        }
    }

    #[test]
    fn malformed_json_is_refused_with_its_place() {
        for text in ["", "{", "{\"capacity\": NaN}", "{} {}", "capacity=1"] {
            let problem = changes(text).unwrap_err();
            assert_eq!((&problem["status"], &problem["line"]), (&400.into(), &1.into()), "{text}: {problem}");
        }
    }
}
