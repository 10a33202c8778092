//! The schedule named in a request.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use dripfeed_auth::{Caller, Scope};
use dripfeed_bucket::{Bucket, KnownSchedule};
use dripfeed_job::Priority;
use dripfeed_job::schedule::ScheduleId;

use super::definition::Definition;
use super::state::Schedule;
use crate::intake::Intake;
use crate::problem::{Code, Problem};
use crate::request::access::lacks;
use crate::request::preconditions::e_tag;

/// How often a change is tried while others change the same schedule.
pub(super) const TRIES: usize = 10;

/// Returns the time of Redis in ms, the schedule and its definition.
pub(super) async fn find(bucket: &Bucket, id: &ScheduleId) -> Result<(u64, KnownSchedule, Definition), Problem> {
    let (now_ms, known) = bucket.schedule(id).await?;
    let read = Definition::of_known(known.into_iter().collect()).await?;
    let (known, definition) = read.into_iter().next().ok_or_else(Problem::unknown_schedule)?;
    Ok((now_ms, known, definition.ok_or_else(Problem::unknown_schedule)?))
}

/// The response, with the schedule's version.
pub(super) fn answer(
    intake: &Intake,
    bucket: &Bucket,
    caller: &Caller,
    known: KnownSchedule,
    definition: Definition,
) -> Response {
    let tag = e_tag(&known.state.version);
    ([tag], Json(Schedule::of(intake, bucket, caller, known, definition))).into_response()
}

/// Returns the highest priority that the schedule's jobs may have now, or `None` if the key that defined it may no
/// longer submit.
pub(super) fn highest_priority(intake: &Intake, bucket: &Bucket, definition: &Definition) -> Option<Priority> {
    let (keys, owner) = (intake.keys(), definition.caller.as_deref());
    keys.may_submit(owner, bucket.name().as_str()).then(|| keys.highest_priority(owner))
}

/// Operations that submit jobs also need the scope `submit`.
pub(super) fn check_may_submit(caller: &Caller) -> Result<(), Problem> {
    if caller.may(Scope::Submit) { Ok(()) } else { Err(lacks(Scope::Submit)) }
}

/// The problem if every try met another change.
pub(super) fn contended() -> Problem {
    Problem::new(Code::StoreUnavailable, "the schedule is being changed by another request; retry later")
}
