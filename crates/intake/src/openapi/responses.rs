//! The error responses of each operation, for the API description.

use std::collections::BTreeMap;

use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, PartialSchema, ToSchema};

use crate::problem::{Code, ProblemDocument};

type Responses = BTreeMap<String, RefOr<Response>>;

/// Codes with the same status share a response, whose description lists them.
fn responses(codes: &[Code]) -> Responses {
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in codes {
        by_status.entry(code.status().as_u16()).or_default().push(*code);
    }
    by_status.into_iter().map(|(status, codes)| (status.to_string(), RefOr::T(response(&codes)))).collect()
}

fn response(codes: &[Code]) -> Response {
    let descriptions: Vec<String> = codes.iter().map(|code| format!("`{}`: {}", code.as_str(), code.title())).collect();
    let schema = Ref::from_schema_name(ProblemDocument::name());
    ResponseBuilder::new()
        .description(descriptions.join(". "))
        .content("application/problem+json", Content::new(Some(schema)))
        .build()
}

/// The codes of any operation under `/v1`.
const ANY: [Code; 8] = [
    Code::Unauthenticated,
    Code::Forbidden,
    Code::UnknownHost,
    Code::HeadersTooLarge,
    Code::Internal,
    Code::Draining,
    Code::StoreUnavailable,
    Code::StoreFull,
];

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident: $($code:ident),* ;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl IntoResponses for $name {
            fn responses() -> Responses {
                let mut codes = ANY.to_vec();
                codes.extend_from_slice(&[$(Code::$code),*]);
                responses(&codes)
            }
        }
    )*};
}

operations! {
    /// An operation on all buckets.
    OfMetrics: Overloaded;
    /// An operation that names no bucket.
    OfAll: BadQuery, Overloaded;
    /// A stream.
    OfEvents: BadQuery, ManyStreams;
    /// Reading a bucket.
    OfBucket: UnknownBucket, SealedBucket, Unsupported, Overloaded;
    /// Changing a bucket, without a body.
    OfOperation: UnknownBucket, SealedBucket, Unsupported, BadQuery, BadBody, BodyTimeout, BodyTooLarge, Overloaded;
    OfList: UnknownBucket, SealedBucket, Unsupported, BadQuery, Overloaded;
    OfJob: UnknownBucket, SealedBucket, UnknownJob, Unsupported, Overloaded;
    OfCancel: UnknownBucket, SealedBucket, UnknownJob, Unsupported, BadBody, BodyTimeout, BodyTooLarge, Overloaded,
        InFlight, JobEnded;
    OfDeletion: UnknownBucket, SealedBucket, UnknownJob, Unsupported, BadBody, BodyTimeout, BodyTooLarge, Overloaded;
    OfBulkDeletion: UnknownBucket, SealedBucket, Unsupported, BadQuery, BadBody, BodyTimeout, BodyTooLarge, Overloaded;
    OfChange: UnknownBucket, SealedBucket, Unsupported, BadBody, BadJson, BadMember, BodyTimeout, BodyTooLarge,
        Overloaded;
    OfSettings: UnknownBucket, SealedBucket, Unsupported, BadBody, BadJson, BadMember, BodyTimeout, BodyTooLarge,
        Overloaded, PreconditionFailed;
    OfDefinition: BadBody, BadJson, BadMember, BodyTimeout, BodyTooLarge, Overloaded, ConfiguredBucket, BucketNotEmpty,
        PreconditionFailed, ManyBuckets, UnknownBucket, Unsupported;
    OfBucketDeletion: UnknownBucket, BadMember, BadQuery, BadBody, BodyTimeout, BodyTooLarge, Overloaded,
        ConfiguredBucket, BucketNotEmpty, PreconditionFailed, Unsupported;
    OfReplay: UnknownBucket, SealedBucket, UnknownJob, Unsupported, BadBody, BodyTimeout, BodyTooLarge, Overloaded,
        BucketFull, CallerLimit, DeadlineUnreachable;
    OfEdit: UnknownBucket, SealedBucket, UnknownJob, Unsupported, BadBody, BadOption, BodyTimeout, BodyTooLarge,
        Overloaded, BucketFull, CallerLimit, DeadlineUnreachable;
    OfReplayStart: UnknownBucket, SealedBucket, Unsupported, BadBody, BadJson, BadMember, BodyTimeout, BodyTooLarge,
        Overloaded, ManyReplays;
    OfReplayRead: UnknownBucket, SealedBucket, UnknownReplay, Unsupported, Overloaded;
    OfReplayCancel: UnknownBucket, SealedBucket, UnknownReplay, Unsupported, BadBody, BodyTimeout, BodyTooLarge,
        Overloaded;
    OfSchedule: UnknownBucket, SealedBucket, UnknownSchedule, Unsupported, Overloaded;
    OfScheduleChange: UnknownBucket, SealedBucket, UnknownSchedule, Unsupported, BadBody, BodyTimeout, BodyTooLarge,
        Overloaded;
    OfScheduleDeletion: UnknownBucket, SealedBucket, UnknownSchedule, Unsupported, BadBody, BodyTimeout, BodyTooLarge,
        Overloaded, PreconditionFailed;
    OfScheduleDefinition: UnknownBucket, SealedBucket, UnknownSchedule, Unsupported, BadBody, BadJson, BadMember,
        BadOption, BadIdempotencyKey, BodyTimeout, BodyTooLarge, Overloaded, PreconditionFailed, ManySchedules;
    OfScheduleRun: UnknownBucket, SealedBucket, UnknownSchedule, Unsupported, BadBody, BodyTimeout, BodyTooLarge,
        Overloaded, BucketFull, CallerLimit, DeadlineUnreachable;
    OfSubmission: UnknownBucket, SealedBucket, Unsupported, BadBody, BadIdempotencyKey, BadOption, BadQuery,
        BodyTimeout, BodyTooLarge, Overloaded, IdempotencyConflict, IdempotencyKeysFull, BucketFull, CallerLimit,
        DeadlineUnreachable;
    OfProxied: UnknownBucket, SealedBucket, Unsupported, BadBody, BadIdempotencyKey, BadOption, BodyTimeout,
        BodyTooLarge, Overloaded, IdempotencyConflict, IdempotencyKeysFull, BucketFull, CallerLimit,
        DeadlineUnreachable;
    OfBatch: UnknownBucket, SealedBucket, BadBatch, BadBody, BadMediaType, BadOption, BadQuery, BodyTimeout,
        BodyTooLarge, Overloaded, BucketFull, CallerLimit, IdempotencyKeysFull;
    OfService: UnknownService, Overloaded;
    OfRulesDeletion: UnknownService, BadBody, BodyTimeout, BodyTooLarge, Overloaded, PreconditionFailed;
    OfRules: UnknownService, BadBody, BadJson, BadYaml, BadMember, BodyTimeout, BodyTooLarge, Overloaded, ManyServices,
        PreconditionFailed;
    OfKeys: BadQuery, Overloaded;
    OfKey: UnknownKey, BadMember, Overloaded;
    OfKeyDeletion: UnknownKey, ConfiguredKey, PreconditionFailed, BadMember, BadBody, BodyTimeout, BodyTooLarge,
        Overloaded;
    OfNewKey: ConfiguredKey, PreconditionFailed, ManyKeys, BadBody, BadJson, BadMember, BodyTimeout, BodyTooLarge,
        Overloaded;
    OfCheck: UnknownService, BadBody, BadJson, BadMember, BodyTimeout, BodyTooLarge, Overloaded;
}

/// The schema of all error responses, and the schemas that it refers to.
pub(crate) fn schemas() -> Vec<(String, RefOr<utoipa::openapi::schema::Schema>)> {
    let mut schemas = vec![(ProblemDocument::name().into_owned(), ProblemDocument::schema())];
    ProblemDocument::schemas(&mut schemas);
    schemas
}
