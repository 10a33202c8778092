//! `PUT …/schedules/{id}`: creates or changes a schedule.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use dripfeed_auth::Operate;
use dripfeed_bucket::{Bucket, BucketError, DefineScheduleResult, KnownSchedule, NewSchedule, NextTick};
use dripfeed_job::schedule::ScheduleId;
use http::HeaderMap;

use super::definition::{Definition, ScheduleDefinition};
use super::owned::{self, TRIES};
use super::state::Schedule;
use crate::buckets::audit::unconfirmed::record_result;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::{BucketAccess, NewScheduleInPath};
use crate::request::body::{self, Sender};
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{NoParams, Params};
use crate::request::preconditions::Preconditions;
use crate::submit::priority;

/// Creates a schedule, or replaces its definition. Its jobs belong to the caller that defined it last. A definition
/// with the same ticks as before doesn't change the next tick.
#[utoipa::path(
    put, path = "/v1/buckets/{bucket}/schedules/{id}", tag = "schedules",
    params(parameters::Bucket, parameters::Schedule, parameters::IfMatch, parameters::IfNoneMatch),
    request_body = ScheduleDefinition,
    responses(
        (status = 200, description = "The schedule", body = Schedule,
            headers(("ETag" = String, description = "Its version, for `If-Match`"))),
        responses::OfScheduleDefinition
    )
)]
pub(crate) async fn define_schedule(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    NewScheduleInPath(id): NewScheduleInPath,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    owned::check_may_submit(&caller)?;
    let preconditions = Preconditions::of(&headers)?;
    let body = body::read(Sender { caller: &caller, address }, body, &intake).await?;
    let owner = caller.id().map(str::to_owned);
    let parsed = body::parse(body, move |body| {
        let owner = owner.as_deref();
        Ok((Definition::of_request(body, owner)?, Definition::to_store(body, owner)?))
    });
    let (definition, text) = parsed.await?;
    priority::check(&caller, &definition.job)?;
    let wanted = Wanted { id: &id, definition: &definition, text: &text, preconditions: &preconditions };
    let (bucket, defined) = wanted.store(&intake, bucket).await;
    let defined = record_result(&bucket, &caller, "schedule", &format!("{id} defined"), defined).await?;
    Ok(owned::answer(&intake, &bucket, &caller, defined, definition))
}

/// The definition in the request.
struct Wanted<'w> {
    id: &'w ScheduleId,
    definition: &'w Definition,
    /// The definition as it is stored.
    text: &'w str,
    preconditions: &'w Preconditions,
}

impl Wanted<'_> {
    /// Returns the current bucket, and the stored schedule.
    async fn store(&self, intake: &Intake, bucket: Bucket) -> (Bucket, Result<KnownSchedule, Problem>) {
        let (bucket, stored) = intake.in_current(bucket, |bucket| async move { self.store_in(&bucket).await }).await;
        let stored = match stored.map_err(Problem::from).flatten() {
            Ok(DefineScheduleResult::Done(defined)) => Ok(*defined),
            Ok(DefineScheduleResult::Changed) => Err(owned::contended()),
            Ok(DefineScheduleResult::Full) => {
                let detail = "delete some schedules, or raise most_schedules or schedules_bytes of the bucket";
                Err(Problem::new(Code::ManySchedules, detail))
            }
            Err(problem) => Err(problem),
        };
        (bucket, stored)
    }

    /// Tries again while others change the schedule.
    async fn store_in(&self, bucket: &Bucket) -> Result<Result<DefineScheduleResult, Problem>, BucketError> {
        for _ in 0..TRIES {
            let (now_ms, known) = bucket.schedule(self.id).await?;
            if let Err(problem) = self.preconditions.check("schedule", known.as_ref().map(|known| &known.state.version))
            {
                return Ok(Err(problem));
            }
            let was_paused = known.as_ref().is_some_and(|known| known.state.paused);
            let new = NewSchedule {
                id: self.id,
                known: known.as_ref(),
                definition: self.text,
                job: &self.definition.job,
                paused: self.definition.written.paused.unwrap_or(was_paused),
                next: next(known.as_ref(), self.definition, now_ms).await?,
            };
            match bucket.define_schedule(&new).await? {
                DefineScheduleResult::Changed => {}
                defined => return Ok(Ok(defined)),
            }
        }
        Ok(Ok(DefineScheduleResult::Changed))
    }
}

/// A schedule that is defined again with the same ticks keeps its next tick, so that a due tick isn't lost. If the
/// clock of Redis was ahead and has skipped ticks that are still to come, the schedule starts over.
async fn next(known: Option<&KnownSchedule>, definition: &Definition, now_ms: u64) -> Result<NextTick, BucketError> {
    let first = definition.timetable.next_after(now_ms);
    let is_ahead = |next: u64| first.is_some_and(|first| first < next);
    let goes_on = known.filter(|known| known.next_ms.is_some_and(|next| !is_ahead(next)));
    let before = Definition::of_known(goes_on.into_iter().cloned().collect()).await?;
    if before.iter().any(|(_, before)| before.as_ref().is_some_and(|before| before.has_ticks_of(definition))) {
        return Ok(NextTick::Unchanged);
    }
    Ok(first.map_or(NextTick::None, NextTick::At))
}
