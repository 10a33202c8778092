//! Admission: a submission goes to its bucket, and its caller gets an answer.

use std::time::Instant;

use axum::response::Response;
use dripfeed_bucket::{Admission, Admitted, Bucket, BucketError};
use dripfeed_job::{BucketName, Submission};

use crate::intake::Intake;
use crate::prefer::Wait;
use crate::problem::Problem;
use crate::rate_limit::Room;
use crate::{receipt, wait};

/// Admits a submission and answers for it.
pub(crate) async fn admit(
    intake: &Intake,
    bucket: &Bucket,
    submission: Submission,
    wait: Option<Wait>,
) -> Result<Response, Problem> {
    let begun = Instant::now();
    let judged = bucket.admit(submission).await;
    intake.metrics().admitted_in(bucket.name(), begun.elapsed());
    let admitted = judge(intake, bucket.name(), judged)?;
    Ok(match wait {
        Some(wait) => wait::answer(intake, bucket, &admitted, wait).await,
        None => receipt::answer(intake.settings(), bucket, &admitted),
    })
}

/// The judgement as an answer, counted.
pub(crate) fn judge(
    intake: &Intake,
    bucket: &BucketName,
    judged: Result<Admission, BucketError>,
) -> Result<Admitted, Problem> {
    let judged = judged.map_err(Problem::from).and_then(|admission| match admission {
        Admission::Admitted(admitted) => Ok(admitted),
        Admission::Refused(refused) => {
            Err(Problem::refused(&refused).with(Room::from(&refused).fields(intake.settings())))
        }
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
