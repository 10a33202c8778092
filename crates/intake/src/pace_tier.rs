//! How the description of the API shows a tier of a pace. It is read where all tiers are, in the limit crate.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

pub(crate) struct PaceTier;

impl PartialSchema for PaceTier {
    fn schema() -> RefOr<Schema> {
        let gate = of_kind("gate");
        let burst = count().schema_type(SchemaType::from_iter([Type::Integer, Type::Null]));
        let bucket = limited(of_kind("bucket")).property("burst", burst);
        OneOfBuilder::new().item(bucket).item(gate).item(limited(of_kind("fixed"))).into()
    }
}

impl ToSchema for PaceTier {}

fn of_kind(kind: &str) -> ObjectBuilder {
    let period = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[1-9][0-9]*(ms|s|m|h|d)$"));
    ObjectBuilder::new()
        .property("kind", ObjectBuilder::new().schema_type(Type::String).enum_values(Some([kind])))
        .required("kind")
        .property("period", period)
        .required("period")
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
}

fn limited(tier: ObjectBuilder) -> ObjectBuilder {
    tier.property("limit", count()).required("limit")
}

fn count() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1))
}
