//! The schema of a pace tier. The limit crate parses it.

use dripfeed_limit::load::{CALENDAR_PERIODS, CALENDAR_RATE, FIXED_ALIGN};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};
use utoipa::{PartialSchema, ToSchema};

use crate::openapi::formats;

pub(crate) struct PaceTier;

impl PartialSchema for PaceTier {
    fn schema() -> RefOr<Schema> {
        // A pattern, because generated clients name the values of an enumeration, and `1mo` becomes `VALUE_11`.
        let pattern = format!("^({})$", CALENDAR_PERIODS.join("|"));
        let of_calendar = ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
        let fixed_period = AnyOfBuilder::new().item(formats::Duration::schema()).item(of_calendar);
        let calendar_rate = ObjectBuilder::new().schema_type(Type::String).pattern(Some(CALENDAR_RATE));
        let fixed_rate = AnyOfBuilder::new().item(formats::Rate::schema()).item(calendar_rate);
        let align = || or_null(Type::String).pattern(Some(FIXED_ALIGN));
        let burst = || or_null(Type::Integer).minimum(Some(1));
        let one = ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some([1]));
        OneOfBuilder::new()
            .item(limited(of_kind("bucket", "BucketTier"), formats::Duration::schema()).property("burst", burst()))
            .item(rated(of_kind("bucket", "BucketRateTier")).property("burst", burst()))
            .item(period(of_kind("gate", "GateTier"), formats::Duration::schema()).property("limit", one))
            .item(rated(of_kind("gate", "GateRateTier")))
            .item(limited(of_kind("fixed", "FixedTier"), fixed_period).property("align", align()))
            .item(rate(of_kind("fixed", "FixedRateTier"), fixed_rate).property("align", align()))
            .into()
    }
}

impl ToSchema for PaceTier {}

/// Client generators name the type after `title`.
fn of_kind(kind: &str, title: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .title(Some(title))
        .property("kind", ObjectBuilder::new().schema_type(Type::String).enum_values(Some([kind])))
        .required("kind")
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
}

/// Adds `limit` and `period`.
fn limited(tier: ObjectBuilder, of: impl Into<RefOr<Schema>>) -> ObjectBuilder {
    let count = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
    period(tier, of).property("limit", count).required("limit")
}

fn period(tier: ObjectBuilder, of: impl Into<RefOr<Schema>>) -> ObjectBuilder {
    tier.property("period", of).required("period")
}

/// Adds `rate`, which stands for a limit and a period.
fn rated(tier: ObjectBuilder) -> ObjectBuilder {
    rate(tier, formats::Rate::schema())
}

fn rate(tier: ObjectBuilder, of: impl Into<RefOr<Schema>>) -> ObjectBuilder {
    tier.property("rate", of).required("rate")
}

fn or_null(of: Type) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(SchemaType::from_iter([of, Type::Null]))
}
