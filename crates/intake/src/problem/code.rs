//! The problem codes: status, name and title of each.

use http::StatusCode;
use serde::{Serialize, Serializer};

/// The problem code that callers see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    BadBatch,
    BadBody,
    BadIdempotencyKey,
    BadJson,
    BadYaml,
    Unauthenticated,
    Forbidden,
    NotFound,
    UnknownBucket,
    UnknownJob,
    UnknownKey,
    UnknownReplay,
    UnknownSchedule,
    UnknownService,
    MethodNotAllowed,
    BodyTimeout,
    BucketNotEmpty,
    ConfiguredBucket,
    ConfiguredKey,
    IdempotencyConflict,
    InFlight,
    JobEnded,
    PreconditionFailed,
    BodyTooLarge,
    BadMediaType,
    UnknownHost,
    BadItem,
    BadMember,
    BadOption,
    BadQuery,
    ManyBuckets,
    ManyKeys,
    ManySchedules,
    ManyServices,
    Unsupported,
    BucketFull,
    CallerLimit,
    IdempotencyKeysFull,
    DeadlineUnreachable,
    ManyReplays,
    ManyStreams,
    HeadersTooLarge,
    Internal,
    Draining,
    Overloaded,
    SealedBucket,
    StoreUnavailable,
    StoreFull,
}

impl Code {
    pub(crate) const ALL: [Self; 48] = [
        Self::BadBatch,
        Self::BadBody,
        Self::BadIdempotencyKey,
        Self::BadJson,
        Self::BadYaml,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::UnknownBucket,
        Self::UnknownJob,
        Self::UnknownKey,
        Self::UnknownReplay,
        Self::UnknownSchedule,
        Self::UnknownService,
        Self::MethodNotAllowed,
        Self::BodyTimeout,
        Self::BucketNotEmpty,
        Self::ConfiguredBucket,
        Self::ConfiguredKey,
        Self::IdempotencyConflict,
        Self::InFlight,
        Self::JobEnded,
        Self::PreconditionFailed,
        Self::BodyTooLarge,
        Self::BadMediaType,
        Self::UnknownHost,
        Self::BadItem,
        Self::BadMember,
        Self::BadOption,
        Self::BadQuery,
        Self::ManyBuckets,
        Self::ManyKeys,
        Self::ManySchedules,
        Self::ManyServices,
        Self::Unsupported,
        Self::BucketFull,
        Self::CallerLimit,
        Self::IdempotencyKeysFull,
        Self::DeadlineUnreachable,
        Self::ManyReplays,
        Self::ManyStreams,
        Self::HeadersTooLarge,
        Self::Internal,
        Self::Draining,
        Self::Overloaded,
        Self::SealedBucket,
        Self::StoreUnavailable,
        Self::StoreFull,
    ];

    /// Status, name and title.
    pub(super) const fn line(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::BadBatch => (400, "bad_batch", "The batch can't be parsed; nothing of it was stored"),
            Self::BadBody => (400, "bad_body", "The body is incomplete, or there should be none"),
            Self::BadIdempotencyKey => (400, "bad_idempotency_key", "Invalid idempotency key"),
            Self::BadJson => (400, "bad_json", "The body is not valid JSON"),
            Self::BadYaml => (400, "bad_yaml", "The body is not valid YAML"),
            Self::Unauthenticated => (401, "unauthenticated", "A valid API key is required"),
            Self::Forbidden => (403, "forbidden", "Forbidden"),
            Self::NotFound => (404, "not_found", "Not found"),
            Self::UnknownBucket => (404, "unknown_bucket", "Unknown bucket"),
            Self::UnknownJob => (404, "unknown_job", "Unknown job"),
            Self::UnknownKey => (404, "unknown_key", "Unknown API key"),
            Self::UnknownReplay => (404, "unknown_replay", "Unknown replay"),
            Self::UnknownSchedule => (404, "unknown_schedule", "Unknown schedule"),
            Self::UnknownService => (404, "unknown_service", "Unknown service"),
            Self::MethodNotAllowed => (405, "method_not_allowed", "Method not allowed"),
            Self::BodyTimeout => (408, "body_timeout", "Timeout while reading the body"),
            Self::BucketNotEmpty => (409, "bucket_not_empty", "The bucket has jobs"),
            Self::ConfiguredBucket => (409, "configured_bucket", "The bucket is in the configuration file"),
            Self::ConfiguredKey => (409, "configured_key", "The API key is in the configuration file"),
            Self::IdempotencyConflict => {
                (409, "idempotency_conflict", "The idempotency key belongs to a job with different content")
            }
            Self::InFlight => (409, "in_flight", "The job is in flight"),
            Self::JobEnded => (409, "job_ended", "The job has ended"),
            Self::PreconditionFailed => (412, "precondition_failed", "Precondition failed"),
            Self::BodyTooLarge => (413, "body_too_large", "The body is too large"),
            Self::BadMediaType => (415, "bad_media_type", "Unsupported media type"),
            Self::UnknownHost => (421, "unknown_host", "Unknown host name in the request"),
            Self::BadItem => (422, "bad_item", "Invalid batch item"),
            Self::BadMember => (422, "bad_member", "Invalid member of the body"),
            Self::BadOption => (422, "bad_option", "Invalid option"),
            Self::BadQuery => (422, "bad_query", "Invalid query parameter"),
            Self::ManyBuckets => (422, "many_buckets", "Too many buckets"),
            Self::ManyKeys => (422, "many_keys", "Too many API keys"),
            Self::ManySchedules => (422, "many_schedules", "The bucket has too many schedules"),
            Self::ManyServices => (422, "many_services", "Too many services or rules"),
            Self::Unsupported => (422, "unsupported", "Not supported by this bucket"),
            Self::BucketFull => (429, "bucket_full", "The bucket is full"),
            Self::CallerLimit => (429, "caller_limit", "Rate limit exceeded"),
            Self::IdempotencyKeysFull => (429, "idempotency_keys_full", "Too many idempotency keys"),
            Self::DeadlineUnreachable => (429, "deadline_unreachable", "The job would expire before delivery"),
            Self::ManyReplays => (429, "many_replays", "Too many replays are running"),
            Self::ManyStreams => (429, "many_streams", "Too many event streams are open"),
            Self::HeadersTooLarge => (431, "headers_too_large", "Request headers are too large"),
            Self::Internal => (500, "internal", "Internal error"),
            Self::Draining => (503, "draining", "The intake is shutting down"),
            Self::Overloaded => (503, "overloaded", "Overloaded; retry later"),
            Self::SealedBucket => (503, "sealed_bucket", "The credentials of the bucket can't be decrypted"),
            Self::StoreUnavailable => (503, "store_unavailable", "Redis is unavailable"),
            Self::StoreFull => (507, "store_full", "Redis is out of memory"),
        }
    }

    pub(crate) fn status(self) -> StatusCode {
        StatusCode::from_u16(self.line().0).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub(crate) const fn as_str(self) -> &'static str {
        self.line().1
    }

    pub(crate) const fn title(self) -> &'static str {
        self.line().2
    }

    /// Whether the connection can't carry another request, because the rest of this one is unread or must not be sent.
    pub(super) const fn closes(self) -> bool {
        matches!(
            self,
            Self::BodyTooLarge
                | Self::BodyTimeout
                | Self::BadBody
                | Self::HeadersTooLarge
                | Self::Draining
                | Self::Overloaded
        )
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
