//! The schema of `PATCH`, derived from the table of settings that can be changed at run time.

use dripfeed_bucket::{RUN_TIME_SETTINGS, RunTimeSetting, SettingKind};
use utoipa::openapi::schema::RefBuilder;
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayBuilder, KnownFormat, ObjectBuilder, OneOfBuilder, Schema, SchemaFormat, SchemaType,
    Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::buckets::patch::{Patch, Target};
use crate::openapi::flow_tier::FlowTier;
use crate::openapi::formats;
use crate::openapi::pace_tier::PaceTier;
use crate::openapi::rules::Limits;

/// The schemas of the sections `fair` and `leak`.
const FAIR: &str = "FairPatch";
const LEAK: &str = "LeakPatch";
/// That of the settings of one caller or group.
const FLOW: &str = "FlowPatch";

impl PartialSchema for Patch {
    fn schema() -> RefOr<Schema> {
        let body = section("").description(Some("An omitted member changes nothing."));
        let body = body.property("fair", Ref::from_schema_name(FAIR));
        let body = body.property("leak", Ref::from_schema_name(LEAK));
        body.property("pace", Ref::from_schema_name(Target::name())).into()
    }
}

impl ToSchema for Patch {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((FAIR.to_owned(), section("fair").into()));
        schemas.push((LEAK.to_owned(), section("leak").into()));
        schemas.push((FLOW.to_owned(), flow().into()));
        schemas.push((Target::name().into_owned(), Target::schema()));
        schemas.push((Size::name().into_owned(), Size::schema()));
        schemas.push((Limits::name().into_owned(), Limits::schema()));
        schemas.push((FlowTier::name().into_owned(), FlowTier::schema()));
        schemas.push((PaceTier::name().into_owned(), PaceTier::schema()));
        Limits::schemas(schemas);
    }
}

struct Size;

impl PartialSchema for Size {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
        OneOfBuilder::new().item(number).item(formats::Size::schema()).into()
    }
}

impl ToSchema for Size {}

fn section(section: &str) -> ObjectBuilder {
    let settings = RUN_TIME_SETTINGS.iter().filter(|setting| setting.place().0 == section);
    let object = ObjectBuilder::new().additional_properties(Some(AdditionalProperties::FreeForm(false)));
    settings.fold(object, |object, setting| object.property(setting.place().1, value(setting)))
}

/// The schema of a value, or null, which restores the configured value.
fn value(RunTimeSetting { kind, description, .. }: &RunTimeSetting) -> RefOr<Schema> {
    let description = Some(*description).filter(|description| !description.is_empty());
    let plain = |of| ObjectBuilder::new().schema_type(or_null(of)).description(description);
    let count = |format| plain(Type::Integer).format(Some(SchemaFormat::KnownFormat(format))).minimum(Some(1));
    let limit = |of| one_of_or_null(of).item(named(formats::NO_LIMIT_WORD)).description(description).into();
    let of = |name| {
        let reference = RefBuilder::new().ref_location_from_schema_name(name).description(description);
        one_of_or_null(reference.build()).into()
    };
    match kind {
        SettingKind::Count(_) => count(KnownFormat::Int64).into(),
        SettingKind::SmallCount(_) => count(KnownFormat::Int32).into(),
        SettingKind::Size(_) => of(Size::name()),
        SettingKind::Most(_) => {
            let format = SchemaFormat::KnownFormat(KnownFormat::Int64);
            let count = ObjectBuilder::new().schema_type(Type::Integer).format(Some(format)).minimum(Some(1));
            limit(RefOr::from(count))
        }
        SettingKind::MaxShare(_) => {
            let share = one_of_or_null(formats::Share::schema()).item(named(formats::FREE_ROOM_WORD));
            share.item(named(formats::NO_LIMIT_WORD)).description(description).into()
        }
        SettingKind::Rate(_) => limit(formats::Rate::schema()),
        SettingKind::Switch(_) => plain(Type::Boolean).into(),
        SettingKind::FairBy(_) => one_of_or_null(named(formats::FAIR_BY_WORDS)).description(description).into(),
        SettingKind::Weights(_) => {
            let weight = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).maximum(Some(1000));
            plain(Type::Object).additional_properties(Some(weight)).into()
        }
        SettingKind::Flows(_) => plain(Type::Object).additional_properties(Some(named(FLOW))).into(),
        SettingKind::FlowTiers(_) => FlowTier::list().schema_type(or_null(Type::Array)).description(description).into(),
        SettingKind::PaceTiers(_) => {
            let list = ArrayBuilder::new().items(Ref::from_schema_name(PaceTier::name()));
            list.schema_type(or_null(Type::Array)).description(description).into()
        }
        SettingKind::Limits(_) => of(Limits::name()),
    }
}

fn flow() -> ObjectBuilder {
    let count = |most| ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).maximum(most);
    ObjectBuilder::new()
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
        .property("weight", count(Some(1000)))
        .property("rate", formats::RateOrNone::schema())
        .property("burst", count(None))
        .property("tiers", FlowTier::list())
        .property("max_in_flight", OneOfBuilder::new().item(count(None)).item(named(formats::NO_LIMIT_WORD)))
        .property("paused", ObjectBuilder::new().schema_type(Type::Boolean))
}

/// A reference, because generated clients name the type of an inline schema by its place.
fn named(name: &str) -> Ref {
    Ref::from_schema_name(name)
}

fn or_null(of: Type) -> SchemaType {
    SchemaType::from_iter([of, Type::Null])
}

fn one_of_or_null(schema: impl Into<RefOr<Schema>>) -> OneOfBuilder {
    OneOfBuilder::new().item(schema).item(ObjectBuilder::new().schema_type(Type::Null))
}
