//! Text formats of the job crate's types, for the API description. Each pattern is defined beside its type.

use dripfeed_bucket::NO_LIMIT;
use dripfeed_job::{chain, duration, group, idempotency, priority, rate, share, size};
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

const TIME: &str = concat!(
    "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt ]([01][0-9]|2[0-3]):[0-5][0-9]",
    "(:[0-5][0-9]([.,][0-9]{1,9})?)?([Zz]|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)$"
);

macro_rules! formats {
    ($($(#[$doc:meta])* $name:ident: $pattern:expr, $example:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let text = ObjectBuilder::new().schema_type(Type::String);
                text.pattern(Some($pattern)).examples([$example]).into()
            }
        }

        impl ToSchema for $name {}
    )*};
}

formats! {
    Duration: duration::PATTERN, "1m 30s";
    /// As text and not as a `date-time`: in a header generators of clients refuse that.
    Time: TIME, "2030-01-01T12:00:00Z";
    Rate: rate::PATTERN, "200/500ms";
    Share: share::PATTERN, "12.5%";
    Size: size::PATTERN, "64MiB";
    IdempotencyKey: idempotency::PATTERN, "order-17";
    Priority: priority::PATTERN, "high";
    Group: group::PATTERN, "tenant-17";
    OutcomeTargets: chain::PATTERN, "events,mail";
}

/// Words that stand for a value. They are named, so that a generated client has one readable type for each.
pub(crate) const NO_LIMIT_WORD: &str = "NoLimit";
pub(crate) const FREE_ROOM_WORD: &str = "FreeRoom";
pub(crate) const FAIR_BY_WORDS: &str = "FairBy";
const NO_ANSWER_WORD: &str = "NoAnswer";

pub(crate) fn words() -> impl Iterator<Item = (String, RefOr<Schema>)> {
    let words: [(&str, &[&str]); 4] = [
        (NO_LIMIT_WORD, &[NO_LIMIT]),
        (FREE_ROOM_WORD, &["free"]),
        (FAIR_BY_WORDS, &["caller", "group", "off"]),
        (NO_ANSWER_WORD, &["none"]),
    ];
    words.into_iter().map(|(name, words)| {
        let schema = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.iter().copied()));
        (name.to_owned(), schema.into())
    })
}

/// A rate, or `none`.
pub(crate) struct RateOrNone;

impl PartialSchema for RateOrNone {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new().item(Rate::schema()).item(Ref::from_schema_name(NO_LIMIT_WORD)).into()
    }
}

impl ToSchema for RateOrNone {}

/// A number, or `none`.
pub(crate) struct LastStatus;

impl PartialSchema for LastStatus {
    fn schema() -> RefOr<Schema> {
        let code = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(100)).maximum(Some(999));
        OneOfBuilder::new().item(code).item(Ref::from_schema_name(NO_ANSWER_WORD)).examples([404]).into()
    }
}

impl ToSchema for LastStatus {}
