//! What a submission says, as the texts of fields.

use http::Method;

use crate::group::Group;
use crate::path::UpstreamPath;
use crate::priority::Priority;
use crate::submission::Submission;
use crate::units::duration::ms_up;

/// All of them together.
pub(super) fn bytes_of(submission: &Submission) -> usize {
    let Submission { body, content_type, method, path, headers, caller, traceparent, .. } = submission;
    let texts = [
        content_type.as_deref(),
        method.as_ref().map(Method::as_str),
        path.as_ref().map(UpstreamPath::as_str),
        caller.as_deref(),
        traceparent.as_deref(),
        priority_text(submission),
        submission.group.as_ref().map(Group::as_str),
    ];
    let texts = texts.into_iter().flatten().map(str::len).sum::<usize>();
    let numbers = [retries_text(submission), timeout_text(submission)].iter().map(String::len).sum::<usize>();
    let lists = headers.to_field().len() + submission.chain.to_field().len();
    body.len() + texts + numbers + lists
}

pub(super) fn priority_text(submission: &Submission) -> Option<&'static str> {
    submission.priority.filter(|priority| *priority != Priority::Normal).map(Priority::as_str)
}

pub(super) fn retries_text(submission: &Submission) -> String {
    submission.retries.map(|retries| retries.to_string()).unwrap_or_default()
}

pub(super) fn timeout_text(submission: &Submission) -> String {
    submission.timeout.map(|timeout| ms_up(timeout).to_string()).unwrap_or_default()
}
