//! The schema of a rate tier per caller or group. The bucket crate parses it.

use dripfeed_bucket::FlowTiers;
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::openapi::formats;

pub(crate) struct FlowTier;

impl FlowTier {
    /// A list with the maximum number of tiers.
    pub(crate) fn list() -> ArrayBuilder {
        ArrayBuilder::new().items(Ref::from_schema_name(Self::name())).max_items(Some(FlowTiers::MOST))
    }
}

impl PartialSchema for FlowTier {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .property("rate", formats::Rate::schema())
            .required("rate")
            .property("burst", ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)))
            .additional_properties(Some(AdditionalProperties::FreeForm(false)))
            .into()
    }
}

impl ToSchema for FlowTier {}
