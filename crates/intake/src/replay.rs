//! `POST …/dead/{id}/replay`, `POST …/dead/replay`: dead letters become jobs again, within the bound and the pace.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use dripfeed_bucket::{Admission, DeadFilter, Judgement, Replayed, ReplayedMany};
use dripfeed_job::Rate;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::admit::judge;
use crate::body::Unused;
use crate::caller::{At, NamedJob, Operate};
use crate::intake::Intake;
use crate::problem::Problem;
use crate::receipt::{self, Receipt};
use crate::{body, json, parameters, refusals, time};

/// Hands in one dead letter again, as a new job.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/dead/{id}/replay", tag = "dead letters",
    params(parameters::Bucket, parameters::Job),
    responses(
        (status = 202, description = "Admitted as a new job", body = Receipt,
            headers(("Location" = String, description = "The new job"))),
        refusals::OfReplay,
    )
)]
pub(crate) async fn replay(
    State(intake): State<Intake>,
    At { bucket, .. }: At<Operate>,
    NamedJob(id): NamedJob,
    _: Unused,
) -> Result<Response, Problem> {
    let admission = match bucket.replay(id).await? {
        Replayed::As(admitted) => Admission::Admitted(admitted),
        Replayed::Refused(refused) => Admission::Refused(refused),
        Replayed::Unknown => return Err(Problem::unknown_dead_letter()),
    };
    let admitted = judge(&intake, bucket.name(), Ok(Judgement { admission, limits: None, holding: None }))?;
    Ok(receipt::answer(intake.settings(), &bucket, &admitted))
}

/// Hands in all dead letters that the filter matches, as far as there is room.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/dead/replay", tag = "dead letters", params(parameters::Bucket),
    request_body(content = Option<Which>, description = "Which ones; all, when left out or null"),
    responses((status = 200, description = "Done", body = Many), refusals::OfChange)
)]
pub(crate) async fn replay_many(
    State(intake): State<Intake>,
    At { bucket, .. }: At<Operate>,
    body: Body,
) -> Result<Json<Many>, Problem> {
    let body = body::read(body, &intake).await?;
    let all = body.is_empty() || body.trim_ascii() == b"null";
    let which = if all { Which::default() } else { json::read(&body)? };
    let rate = which.rate;
    Ok(Json(bucket.replay_many(&which.into(), rate).await?.into()))
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// Only reasons that contain this text.
    reason: Option<String>,
    /// Only with this last status of the upstream.
    #[serde(default, deserialize_with = "status")]
    #[schema(minimum = 100, maximum = 599)]
    status: Option<u16>,
    /// Only of this caller.
    caller: Option<String>,
    /// Only died at this time, RFC 3339, or later.
    #[serde(default, deserialize_with = "time::deserialize")]
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<u64>,
    /// Only died at this time, RFC 3339, or earlier.
    #[serde(default, deserialize_with = "time::deserialize")]
    #[schema(value_type = Option<String>, format = DateTime)]
    until: Option<u64>,
    /// How fast they come back, such as `10/s`; at the bucket's own pace when left out.
    #[schema(value_type = Option<String>, example = "10/s", pattern = "^[1-9][0-9]{0,2}/(s|m|h|[1-9][0-9]{0,2}(ms|s))$")]
    rate: Option<Rate>,
}

fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    match Option::deserialize(deserializer)? {
        Some(status @ (..100 | 600..)) => {
            Err(D::Error::invalid_value(Unexpected::Unsigned(u64::from(status)), &"a status from 100 to 599"))
        }
        usable => Ok(usable),
    }
}

impl From<Which> for DeadFilter {
    fn from(which: Which) -> Self {
        Self {
            reason: which.reason,
            status: which.status,
            caller: which.caller,
            died_since_ms: which.since,
            died_until_ms: which.until,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(as = Replayed)]
pub(crate) struct Many {
    replayed: u64,
    /// Matched, and stay: there was no room.
    left: u64,
}

impl From<ReplayedMany> for Many {
    fn from(many: ReplayedMany) -> Self {
        Self { replayed: many.replayed, left: many.left }
    }
}
