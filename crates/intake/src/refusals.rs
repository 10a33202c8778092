//! Which refusals a call can answer, for the API description.

use std::collections::BTreeMap;

use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, PartialSchema, ToSchema};

use crate::problem::{Code, Document};

type Responses = BTreeMap<String, RefOr<Response>>;

/// Codes that share a status share a response, which tells them all.
fn responses(codes: &[Code]) -> Responses {
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in codes {
        by_status.entry(code.status().as_u16()).or_default().push(*code);
    }
    by_status.into_iter().map(|(status, codes)| (status.to_string(), RefOr::T(response(&codes)))).collect()
}

fn response(codes: &[Code]) -> Response {
    let told: Vec<String> = codes.iter().map(|code| format!("`{}`: {}", code.as_str(), code.title())).collect();
    let schema = Ref::from_schema_name(Document::name());
    ResponseBuilder::new()
        .description(told.join(". "))
        .content("application/problem+json", Content::new(Some(schema)))
        .build()
}

/// What any call under `/v1` can be refused for.
const ANY: [Code; 7] = [
    Code::Unauthenticated,
    Code::Forbidden,
    Code::HeadersTooLarge,
    Code::Internal,
    Code::Draining,
    Code::StoreUnavailable,
    Code::StoreFull,
];

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident: $($code:ident),* ;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl IntoResponses for $name {
            fn responses() -> Responses {
                let mut codes = ANY.to_vec();
                codes.extend([$(Code::$code),*]);
                responses(&codes)
            }
        }
    )*};
}

refusals! {
    /// Of a call that names no bucket.
    OfAll: BadQuery;
    /// Of a call on a bucket that changes nothing.
    OfBucket: UnknownBucket, Unsupported;
    /// Of a call that changes something, and has no use for its body.
    OfOperation: UnknownBucket, Unsupported, BadBody, BodyTimeout, BodyTooLarge, Overloaded;
    OfList: UnknownBucket, Unsupported, BadQuery;
    OfJob: UnknownBucket, UnknownJob, Unsupported;
    OfCancel: UnknownBucket, UnknownJob, Unsupported, BadBody, BodyTimeout, BodyTooLarge, Overloaded, InFlight, JobEnded;
    OfDeletion: UnknownBucket, UnknownJob, Unsupported, BadBody, BodyTimeout, BodyTooLarge, Overloaded;
    OfChange: UnknownBucket, Unsupported, BadBody, BadJson, BadMember, BodyTimeout, BodyTooLarge, Overloaded;
    OfReplay: UnknownBucket, UnknownJob, Unsupported, BadBody, BodyTimeout, BodyTooLarge, Overloaded, BucketFull, CallerLimit,
        DeadlineUnreachable;
    OfSubmission: UnknownBucket, Unsupported, BadBody, BadIdempotencyKey, BadOption, BodyTimeout, BodyTooLarge, Overloaded,
        IdempotencyConflict, BucketFull, CallerLimit, DeadlineUnreachable;
    OfBatch: UnknownBucket, BadBatch, BadBody, BadMediaType, BadOption, BodyTimeout, BodyTooLarge, Overloaded, BucketFull,
        CallerLimit;
    OfService: UnknownService;
    OfForgetting: UnknownService, BadBody, BodyTimeout, BodyTooLarge, Overloaded;
    OfRules: UnknownService, BadBody, BadJson, BadYaml, BadMember, BodyTimeout, BodyTooLarge, Overloaded, ManyServices;
    OfCheck: UnknownService, BadBody, BadJson, BadMember, BodyTimeout, BodyTooLarge, Overloaded;
}

/// The schema that the responses refer to, with those it refers to itself.
pub(crate) fn schemas() -> Vec<(String, RefOr<utoipa::openapi::schema::Schema>)> {
    let mut schemas = vec![(Document::name().into_owned(), Document::schema())];
    Document::schemas(&mut schemas);
    schemas
}
