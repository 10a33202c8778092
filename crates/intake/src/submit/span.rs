//! The trace span of a submission, which its jobs store as the parent of the spans of their attempts; and the log line
//! about it, which contains nothing that the caller has sent.

use dripfeed_bucket::{Admission, AdmissionDecision, Admitted, Bucket, BucketError};
use dripfeed_job::{BucketName, Submission};
use dripfeed_trace::{ActiveSpan, TraceContext, TraceId};

use crate::intake::Intake;
use crate::problem::Problem;

/// The span of a request. Without one, its jobs keep the caller's `traceparent`.
#[derive(Default)]
pub(crate) struct SubmissionSpan(Option<ActiveSpan>);

impl SubmissionSpan {
    /// All of `submissions` have the `traceparent` of the request.
    pub(crate) fn begin(intake: &Intake, bucket: &Bucket, submissions: &mut [Submission]) -> Self {
        let traceparent = submissions.first().and_then(|first| first.traceparent.as_deref());
        let mut span = intake.tracer().and_then(|tracer| tracer.submission("submit", traceparent));
        if let Some(span) = &mut span {
            span.set("dripfeed.bucket", bucket.name().as_str());
            let traceparent = span.context().to_string();
            for submission in submissions {
                submission.traceparent = Some(traceparent.clone());
            }
        }
        Self(span)
    }

    pub(crate) fn trace(&self) -> Option<TraceId> {
        self.0.as_ref().map(ActiveSpan::context).map(|TraceContext { trace, .. }| trace)
    }

    /// Ends the span with the bucket's decision on its only job.
    pub(crate) fn end(self, bucket: &BucketName, judged: &Result<AdmissionDecision, BucketError>) {
        let trace_id = self.trace().map(tracing::field::display);
        match judged.as_ref().map(|judged| &judged.admission) {
            Ok(Admission::Admitted(Admitted { id: job, repeated, .. })) => {
                tracing::debug!(%bucket, %job, repeated, trace_id, "job accepted");
            }
            Ok(Admission::Refused(refused)) => {
                tracing::debug!(%bucket, code = Problem::refused(refused).code().as_str(), trace_id, "job refused");
            }
            Err(_) => {}
        }
        let Some(mut span) = self.0 else { return };
        match judged.as_ref().map(|judged| &judged.admission) {
            Ok(Admission::Admitted(admitted)) => {
                span.set("dripfeed.job.id", admitted.id.to_string());
                if admitted.repeated {
                    span.set("dripfeed.repeated", "true");
                }
            }
            Ok(Admission::Refused(refused)) => {
                span.set("dripfeed.refused", Problem::refused(refused).code().as_str());
            }
            Err(error) => span.fail(error.to_string()),
        }
    }

    /// Ends the span with the bucket's decisions on its jobs.
    pub(crate) fn end_of_many(self, bucket: &BucketName, judged: &[Result<AdmissionDecision, BucketError>]) {
        let trace_id = self.trace().map(tracing::field::display);
        let admissions = judged.iter().flatten().map(|judged| &judged.admission);
        let admitted = admissions.filter(|admission| matches!(admission, Admission::Admitted(_))).count();
        tracing::debug!(%bucket, jobs = judged.len(), admitted, trace_id, "batch of jobs judged");
        let Some(mut span) = self.0 else { return };
        span.set("dripfeed.jobs", count(judged.len()));
        span.set("dripfeed.admitted", count(admitted));
        if let Some(Err(error)) = judged.iter().find(|judged| judged.is_err()) {
            span.fail(error.to_string());
        }
    }
}

fn count(jobs: usize) -> u32 {
    u32::try_from(jobs).unwrap_or(u32::MAX)
}
