//! Admission: a submission goes to its bucket, and its caller gets an answer.

use std::time::Instant;

use axum::response::Response;
use dripfeed_bucket::{Admission, Admitted, Bucket, BucketError, Judgement};
use dripfeed_job::{BucketName, Submission};
use http::HeaderMap;

use crate::intake::Intake;
use crate::prefer::Wait;
use crate::problem::Problem;
use crate::rate_limit::{Room, of_limits};
use crate::{receipt, wait};

/// Admits a submission, which came with `headers`, and answers for it.
pub(crate) async fn admit(
    intake: &Intake,
    bucket: &Bucket,
    submission: Submission,
    headers: &HeaderMap,
    wait: Option<Wait>,
) -> Result<Response, Problem> {
    let begun = Instant::now();
    let judged = bucket.judge(submission, Some(headers)).await;
    intake.metrics().admitted_in(bucket.name(), begun.elapsed());
    let limits = judged.as_ref().ok().and_then(|judgement| judgement.limits.as_ref());
    let limits = of_limits(limits, intake.settings());
    let admitted = judge(intake, bucket.name(), judged)?;
    let mut response = match wait {
        Some(wait) => wait::answer(intake, bucket, &admitted, wait).await,
        None => receipt::answer(intake.settings(), bucket, &admitted),
    };
    response.headers_mut().extend(limits);
    Ok(response)
}

/// The judgement as an answer, counted.
pub(crate) fn judge(
    intake: &Intake,
    bucket: &BucketName,
    judged: Result<Judgement, BucketError>,
) -> Result<Admitted, Problem> {
    let judged = judged.map_err(Problem::from).and_then(|Judgement { admission, limits }| match admission {
        Admission::Admitted(admitted) => Ok(admitted),
        Admission::Refused(refused) => Err(Problem::refused(&refused, limits.as_ref())
            .with(Room::from(&refused).fields(intake.settings()))
            .with(of_limits(limits.as_ref(), intake.settings()))),
    });
    let admitted = counted(intake, bucket, judged)?;
    if !admitted.repeated {
        intake.metrics().accepted(bucket);
    }
    Ok(admitted)
}

/// Counts a refusal.
pub(crate) fn counted<T>(intake: &Intake, bucket: &BucketName, judged: Result<T, Problem>) -> Result<T, Problem> {
    judged.inspect_err(|problem| intake.metrics().refused(bucket, problem.code()))
}
