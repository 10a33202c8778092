//! `RateLimit` fields for the bucket's free capacity (draft-ietf-httpapi-ratelimit-headers, RFC 9651 syntax), and the
//! older `x-ratelimit-*` fields.

use std::time::Duration;

use dripfeed_bucket::{Admission, AdmissionDecision, Admitted, CallerShare, MAX_SHARE, Refused};
use dripfeed_limit::Decision;
use dripfeed_limit::quota::{self, Quota, QuotaPolicy, Window};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::settings::IntakeSettings;

/// The largest integer of a structured field (RFC 9651).
const LARGEST: u64 = 999_999_999_999_999;

/// The free capacity of a bucket when it decided on a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeCapacity {
    capacity: u64,
    left: u64,
    /// If the bucket is full: the time until it has room.
    wait: Option<Duration>,
}

impl From<&Admitted> for FreeCapacity {
    fn from(admitted: &Admitted) -> Self {
        let left = admitted.capacity.saturating_sub(admitted.level);
        Self { capacity: admitted.capacity, left, wait: admitted.room_in }
    }
}

impl From<&Refused> for FreeCapacity {
    fn from(refused: &Refused) -> Self {
        let left = refused.capacity.saturating_sub(refused.level);
        Self { capacity: refused.capacity, left, wait: refused.retry_after }
    }
}

impl From<&Admission> for FreeCapacity {
    fn from(admission: &Admission) -> Self {
        match admission {
            Admission::Admitted(admitted) => admitted.into(),
            Admission::Refused(refused) => refused.into(),
        }
    }
}

impl FreeCapacity {
    /// The fields of a response.
    pub(crate) fn fields(self, settings: &IntakeSettings) -> Vec<(HeaderName, HeaderValue)> {
        let reset = (self.left == 0).then(|| self.wait.map(seconds_up)).flatten();
        let mut fields = concurrency_fields("bucket", self.capacity, self.left, reset);
        if settings.x_ratelimit_headers {
            fields.extend(older_fields(self.capacity, self.left, reset));
        }
        fields
    }
}

/// The fields of the bucket, of the caller share and of the rate limits that matched a submission.
pub(crate) fn all_fields(judged: &AdmissionDecision, settings: &IntakeSettings) -> Vec<(HeaderName, HeaderValue)> {
    let mut fields = FreeCapacity::from(&judged.admission).fields(settings);
    let caller_fields = caller_fields(judged, settings);
    let has_older = caller_fields.iter().any(|(name, _)| is_older(name));
    fields.retain(|(name, _)| !(has_older && is_older(name)));
    fields.extend(caller_fields);
    fields
}

/// Adds the fields of [`caller_fields`] to those of the bucket.
pub(crate) fn add_caller_fields(headers: &mut HeaderMap, fields: Vec<(HeaderName, HeaderValue)>) {
    if fields.iter().any(|(name, _)| is_older(name)) {
        OLDER.iter().for_each(|name| drop(headers.remove(name)));
    }
    for (name, value) in fields {
        headers.append(name, value);
    }
}

static OLDER: [HeaderName; 3] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

/// The older fields have room for one limit: they show the one with the least remaining.
fn is_older(name: &HeaderName) -> bool {
    OLDER.contains(name)
}

/// The fields of the caller share, and of the rate limits that matched a submission.
pub(crate) fn caller_fields(judged: &AdmissionDecision, settings: &IntakeSettings) -> Vec<(HeaderName, HeaderValue)> {
    let room = FreeCapacity::from(&judged.admission).left;
    // Only needed for the older fields.
    let limits = judged.limits.as_ref().filter(|_| settings.x_ratelimit_headers);
    let of_limits = limits.and_then(Decision::least_remaining).filter(|left| *left <= room);
    let mut fields = Vec::new();
    let mut is_of_share = false;
    if let Some(share) = judged.caller_share {
        let (left, reset) = left_of_share(share, &judged.admission);
        fields.extend(concurrency_fields(MAX_SHARE, share.most, left, reset));
        is_of_share = left < of_limits.unwrap_or(room);
        if settings.x_ratelimit_headers && is_of_share {
            fields.extend(older_fields(share.most, left, reset));
        }
    }
    if let Some(limits) = &judged.limits {
        // A refusal sets Retry-After itself, which may also cover the wait for room.
        fields.extend(limits.fields().into_iter().filter(|(name, _)| name != http::header::RETRY_AFTER));
        if settings.x_ratelimit_headers && of_limits.is_some() && !is_of_share {
            fields.extend(limits.older_fields());
        }
    }
    fields
}

/// What is left of the share, and the seconds until there is more, if that is known.
fn left_of_share(share: CallerShare, admission: &Admission) -> (u64, Option<u64>) {
    let left = share.most.saturating_sub(share.jobs);
    let wait = match admission {
        Admission::Refused(refused) if left == 0 => refused.retry_after,
        _ => None,
    };
    (left, wait.map(seconds_up))
}

fn older_fields(most: u64, left: u64, reset: Option<u64>) -> Vec<(HeaderName, HeaderValue)> {
    let mut fields = vec![
        field("x-ratelimit-limit", most.min(LARGEST).to_string()),
        field("x-ratelimit-remaining", left.min(LARGEST).to_string()),
    ];
    // If nothing is left and the time isn't known, no field: 0 would mean that there is more now.
    let reset = reset.or((left > 0).then_some(0));
    fields.extend(reset.map(|reset| field("x-ratelimit-reset", reset.to_string())));
    fields
}

/// The fields of a limit on concurrent jobs, which has a unit and no time window.
fn concurrency_fields(id: &str, most: u64, left: u64, reset: Option<u64>) -> Vec<(HeaderName, HeaderValue)> {
    quota::fields(&[Quota { policy: &QuotaPolicy::new(id, most, Window::AtOnce), left, reset_s: reset }])
}

fn seconds_up(wait: Duration) -> u64 {
    u64::try_from(wait.as_nanos().div_ceil(1_000_000_000)).unwrap_or(LARGEST).clamp(1, LARGEST)
}

fn field(name: &'static str, value: String) -> (HeaderName, HeaderValue) {
    (HeaderName::from_static(name), HeaderValue::try_from(value).unwrap_or(HeaderValue::from_static("")))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

    use dripfeed_bucket::RefusalReason;
    use dripfeed_job::JobId;
    use sfv::{BareItem, ItemSerializer, List, ListEntry, Parser};

    use super::*;

    fn settings(x_ratelimit_headers: bool) -> IntakeSettings {
        IntakeSettings {
            max_body: 1,
            max_bodies: 1,
            max_connections: 1,
            max_connections_per_address: 1,
            trusted_proxies: Vec::new(),
            head_timeout: Duration::ZERO,
            idle_timeout: Duration::ZERO,
            body_timeout: Duration::ZERO,
            drain: Duration::ZERO,
            drain_delay: Duration::ZERO,
            hosts: dripfeed_auth::Hosts::default(),
            x_ratelimit_headers,
            max_batch: 1,
            max_waits: 1,
            max_waits_per_caller: 1,
            max_event_streams: 4,
            max_event_streams_per_caller: 2,
            redaction: dripfeed_job::redaction::Redaction::default(),
        }
    }

    fn admitted(level: u64, capacity: u64) -> FreeCapacity {
        let id = JobId::new(1, 0);
        (&Admitted {
            id,
            level,
            capacity,
            eta: Duration::ZERO,
            room_in: Some(Duration::from_millis(1500)),
            repeated: false,
        })
            .into()
    }

    fn refused(retry_after_ms: u64) -> FreeCapacity {
        let retry_after = Some(Duration::from_millis(retry_after_ms));
        (&Refused { reason: RefusalReason::BucketFull, retry_after, level: 10, capacity: 10 }).into()
    }

    fn shown(room: FreeCapacity, x: bool) -> Vec<String> {
        room.fields(&settings(x)).iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
    }

    #[test]
    fn the_fields_show_capacity_remaining_and_reset() {
        assert_eq!(
            shown(admitted(3, 10), false),
            ["ratelimit-policy: \"bucket\";q=10;qu=\"concurrent-requests\"", "ratelimit: \"bucket\";r=7"]
        );
        assert_eq!(shown(refused(1001), false)[1], "ratelimit: \"bucket\";r=0;t=2");
        assert_eq!(shown(refused(1), false)[1], "ratelimit: \"bucket\";r=0;t=1");
    }

    #[test]
    fn the_older_fields_can_be_enabled() {
        let older = |room| shown(room, true)[2..].to_vec();
        assert_eq!(
            older(admitted(3, 10)),
            ["x-ratelimit-limit: 10", "x-ratelimit-remaining: 7", "x-ratelimit-reset: 0"]
        );
        assert_eq!(
            older(admitted(10, 10)),
            ["x-ratelimit-limit: 10", "x-ratelimit-remaining: 0", "x-ratelimit-reset: 2"]
        );
        let repeated = FreeCapacity { wait: None, ..admitted(10, 10) };
        assert_eq!(older(repeated), ["x-ratelimit-limit: 10", "x-ratelimit-remaining: 0"]);
        assert_eq!(older(refused(1001)), ["x-ratelimit-limit: 10", "x-ratelimit-remaining: 0", "x-ratelimit-reset: 2"]);
    }

    #[test]
    fn the_older_fields_show_the_share_of_the_caller_where_it_has_the_least_left() {
        let older = |admission: Admission, share| {
            let judged = AdmissionDecision { admission, limits: None, caller_share: Some(share) };
            let fields = all_fields(&judged, &settings(true));
            let shown = |(name, value): &(HeaderName, HeaderValue)| format!("{name}: {}", value.to_str().unwrap());
            fields.iter().filter(|(name, _)| is_older(name)).map(shown).collect::<Vec<_>>()
        };
        let reason = RefusalReason::ShareUsedUp;
        let refused = Refused { reason, retry_after: Some(Duration::from_millis(1001)), level: 5, capacity: 10 };
        assert_eq!(
            older(Admission::Refused(refused), CallerShare { jobs: 3, most: 3 }),
            ["x-ratelimit-limit: 3", "x-ratelimit-remaining: 0", "x-ratelimit-reset: 2"]
        );
        let id = JobId::new(1, 0);
        let admitted = |level| {
            let room_in = Some(Duration::ZERO).filter(|_| level == 10);
            Admission::Admitted(Admitted { id, level, capacity: 10, eta: Duration::ZERO, room_in, repeated: false })
        };
        let share = |jobs| CallerShare { jobs, most: 3 };
        assert_eq!(older(admitted(5), share(3)), ["x-ratelimit-limit: 3", "x-ratelimit-remaining: 0"]);
        assert_eq!(older(admitted(9), share(1))[0], "x-ratelimit-limit: 10");
        assert_eq!(older(admitted(10), share(3))[0], "x-ratelimit-limit: 10");
    }

    #[test]
    fn the_fields_are_valid_structured_fields() {
        for room in [admitted(3, 10), admitted(20, 10), admitted(0, u64::MAX), refused(1), refused(u64::MAX)] {
            for (name, value) in room.fields(&settings(false)) {
                let list: List = Parser::new(value.as_bytes()).parse().unwrap();
                let [ListEntry::Item(item)] = list.as_slice() else { panic!("{name} is no list of one item") };
                assert!(matches!(&item.bare_item, BareItem::String(policy) if policy.as_str() == "bucket"));
                let again = ItemSerializer::new().bare_item(&item.bare_item).parameters(&item.params).finish();
                assert_eq!(again, value.to_str().unwrap(), "canonical");
            }
        }
    }
}
