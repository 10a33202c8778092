//! `PATCH …`: changes settings at run time, at once for all replicas and for jobs already queued.

use std::fmt;

use axum::body::Body;
use axum::extract::State;
use dripfeed_bucket::{Bucket, BucketLimits, Leak, LeakOverrides, Overrides, PaceTiers};
use dripfeed_job::rate::EXACT;
use dripfeed_job::{Rate, Share, size};
use serde::de::{Error as _, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;
use utoipa::ToSchema;

use crate::buckets::state::BucketState;
use crate::intake::Intake;
use crate::openapi::pace_tier::PaceTier;
use crate::openapi::rules::{Policy, RulesDocument};
use crate::openapi::{formats, parameters, responses};
use crate::problem::{Code, FaultPlace, Problem};
use crate::request::access::BucketAccess;
use crate::request::{body, json};
use dripfeed_auth::Operate;

/// Changes settings at run time. `null` restores the configured value.
#[utoipa::path(
    patch, path = "/v1/buckets/{bucket}", tag = "buckets", params(parameters::Bucket), request_body = Patch,
    responses((status = 200, description = "The changed bucket", body = BucketState), responses::OfChange)
)]
pub(crate) async fn change(
    State(intake): State<Intake>,
    BucketAccess { bucket, .. }: BucketAccess<Operate>,
    body: Body,
) -> Result<axum::Json<BucketState>, Problem> {
    let body = body::read(body, &intake).await?;
    let changes = body::parse(body, |body| json::read::<Patch>(body)?.changes()).await?;
    if changes.leak.rate.is_some() || changes.leak.burst.is_some() {
        check_burst_fits(&bucket, &changes).await?;
    }
    bucket.apply_overrides(&changes).await?;
    BucketState::of(&bucket).await.map(axum::Json)
}

/// An omitted member changes nothing.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Patch {
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u64>, minimum = 1)]
    capacity: Option<Option<Count>>,
    /// Bytes, or text with a unit: `64MiB`.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Size>)]
    capacity_bytes: Option<Option<Size>>,
    /// The largest share of the capacity for one caller's jobs.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<formats::Share>, inline)]
    max_share: Option<Option<Share>>,
    /// Rate limits of submissions, as a list or as a document; replaced as a whole. Consumption is kept for unchanged
    /// ids.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Limits>)]
    limits: Option<Option<Json>>,
    #[serde(default, deserialize_with = "json::object")]
    leak: LeakPatch,
    #[serde(default, deserialize_with = "json::object")]
    pace: Target,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LeakPatch {
    /// Calls per time, such as `200/500ms`.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<formats::Rate>, inline)]
    rate: Option<Option<Rate>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u64>, minimum = 1)]
    burst: Option<Option<Count>>,
    /// Further limits that a call must pass besides the rate.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<PaceTier>>)]
    tiers: Option<Option<Vec<Json>>>,
    /// Whether the rate adapts to the upstream's refusals and timeouts.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<bool>)]
    adaptive: Option<Option<bool>>,
    /// Per replica.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u16>, minimum = 1)]
    concurrency: Option<Option<std::num::NonZeroU16>>,
    /// Over all replicas.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<u64>, minimum = 1)]
    max_in_flight: Option<Option<Count>>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "the bucket parses limits, and reports all faults at once")]
#[serde(untagged)]
enum Limits {
    List(Vec<Policy>),
    Document(RulesDocument),
}

/// The name of `leak.rate` in GET.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Target {
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<formats::Rate>, inline)]
    target: Option<Option<Rate>>,
}

impl Patch {
    fn changes(self) -> Result<Overrides, Problem> {
        if self.leak.rate.is_some() && self.pace.target.is_some() && self.leak.rate != self.pace.target {
            return Err(bad_member(
                "pace.target",
                "conflicts with leak.rate, which means the same: set one of the two",
            ));
        }
        let number = |wish: Option<Option<Count>>| wish.map(|count| count.map(|count| count.0));
        Ok(Overrides {
            capacity: number(self.capacity),
            capacity_bytes: self.capacity_bytes.map(|size| size.map(|size| size.0)),
            max_share: self.max_share,
            limits: self.limits.map(|limits| limits.map(read_limits).transpose()).transpose()?,
            leak: LeakOverrides {
                rate: self.leak.rate.or(self.pace.target),
                burst: number(self.leak.burst),
                tiers: self.leak.tiers.map(read_tiers).transpose()?,
                adaptive: self.leak.adaptive,
                concurrency: self.leak.concurrency.map(|wish| wish.map(|number| u32::from(number.get()))),
                max_in_flight: number(self.leak.max_in_flight),
            },
        })
    }
}

fn read_limits(limits: Json) -> Result<BucketLimits, Problem> {
    let read = match limits {
        Json::Array(items) => BucketLimits::read("limits", items),
        Json::Object(mut members) => match (members.remove("policies"), members.is_empty()) {
            (Some(Json::Array(items)), true) => BucketLimits::read("limits.policies", items),
            _ => return Err(bad_member("limits", "a document has one member `policies`, a list")),
        },
        _ => return Err(bad_member("limits", "use a list of policies")),
    };
    read.map_err(|error| Problem::faults(Code::BadMember, &error))
}

fn read_tiers(tiers: Option<Vec<Json>>) -> Result<Option<PaceTiers>, Problem> {
    let read = tiers.map(|tiers| PaceTiers::read("leak.tiers", tiers)).transpose();
    read.map_err(|error| match error.faults() {
        [first, ..] => bad_member(&first.place, &first.message),
        [] => bad_member("leak.tiers", &error.to_string()),
    })
}

/// Rate and burst must fit, whichever of them is changed.
async fn check_burst_fits(bucket: &Bucket, changes: &Overrides) -> Result<(), Problem> {
    let now = bucket.census().await?.overrides.leak;
    let configured = &bucket.settings().leak;
    let rate = changes.leak.rate.unwrap_or(now.rate.flatten()).or(configured.rate);
    let burst = changes.leak.burst.unwrap_or(now.burst.flatten()).unwrap_or(configured.burst);
    Leak::fault(rate, burst).map_or(Ok(()), |fault| Err(bad_member("leak.burst", &fault)))
}

fn bad_member(member: &str, reason: &str) -> Problem {
    let place = FaultPlace { member: Some(member.to_owned()), ..FaultPlace::default() };
    Problem::new(Code::BadMember, reason).at(place)
}

/// Distinguishes `null` from an omitted member.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// At least 1, and exact in a double.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count(u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        if (1..EXACT).contains(&number) {
            return Ok(Self(number));
        }
        Err(D::Error::invalid_value(Unexpected::Unsigned(number), &"a number from 1 to 2^53 - 1"))
    }
}

/// Bytes, at least 1; as a number, or as text with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size(u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes, from 1 to 2^53 - 1, or text with a unit such as \"64MiB\"")
    }

    fn visit_u64<E: serde::de::Error>(self, bytes: u64) -> Result<Size, E> {
        let in_range = (1..EXACT).contains(&bytes);
        in_range.then_some(Size(bytes)).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(bytes), &self))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Size, E> {
        self.visit_u64(size::parse(text).map_err(E::custom)?)
    }
}

impl utoipa::PartialSchema for Size {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Type};
        let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
        OneOfBuilder::new().item(number).item(formats::Size::schema()).into()
    }
}

impl ToSchema for Size {}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn changes(text: &str) -> Result<Overrides, Json> {
        let problem = |problem: Problem| serde_json::to_value(&problem).unwrap();
        json::read::<Patch>(text.as_bytes()).and_then(Patch::changes).map_err(problem)
    }

    #[test]
    fn every_setting_can_be_changed() {
        let text = r#"{"capacity": 50, "capacity_bytes": "64MiB", "max_share": "12.5%",
            "leak": {"rate": "10/s", "burst": 10, "adaptive": false, "concurrency": 5, "max_in_flight": 20}}"#;
        let leak = LeakOverrides {
            rate: Some("10/s".parse().ok()),
            burst: Some(Some(10)),
            tiers: None,
            adaptive: Some(Some(false)),
            concurrency: Some(Some(5)),
            max_in_flight: Some(Some(20)),
        };
        let (capacity, capacity_bytes) = (Some(Some(50)), Some(Some(64 << 20)));
        let max_share = Some("12.5%".parse().ok());
        let all = Overrides { capacity, capacity_bytes, max_share, leak, ..Overrides::default() };
        assert_eq!(changes(text).unwrap(), all);
        assert_eq!(changes(r#"{"capacity_bytes": 1000}"#).unwrap().capacity_bytes, Some(Some(1000)));
    }

    #[test]
    fn omitted_settings_stay_and_null_restores() {
        assert_eq!(changes("{}").unwrap(), Overrides::default());
        let back = changes(r#"{"capacity": null, "capacity_bytes": null, "pace": {"target": null}}"#).unwrap();
        assert_eq!((back.capacity, back.capacity_bytes, back.leak.rate), (Some(None), Some(None), Some(None)));
    }

    #[test]
    fn limits_are_accepted_as_a_whole_or_not_at_all() {
        let gate = r#"{"id": "each", "tiers": [{"kind": "gate", "period": "1s"}]}"#;
        let ids = |text: String| {
            let limits = changes(&text).unwrap().limits.unwrap();
            limits.map(|limits| limits.policies().iter().map(|policy| policy.id().to_string()).collect::<Vec<_>>())
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
        let rate = |text| changes(text).map(|changes| changes.leak.rate.flatten().unwrap().to_string());
        assert_eq!(rate(r#"{"pace": {"target": "10/s"}}"#).unwrap(), "10/s");
        assert_eq!(rate(r#"{"pace": {"target": "10/s"}, "leak": {"rate": "10/s"}}"#).unwrap(), "10/s");
        let both = rate(r#"{"pace": {"target": "10/s"}, "leak": {"rate": "11/s"}}"#).unwrap_err();
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
