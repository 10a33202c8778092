//! The job of a dead letter, as it is submitted again.

use bytes::Bytes;
use dripfeed_job::{Chain, JobId, Submission, Unreadable, element, entry};

use crate::inspect::job_payload::with_members;
use crate::settings::Kind;

/// Names and values of a new job, as the kind of its bucket stores them; empty for those of the letter.
pub(super) type NewFields = Vec<(&'static str, Vec<u8>)>;

/// The job of a letter of either kind, without its due time and deadline, which have passed.
pub(super) fn submission_of(id: JobId, letter: Vec<(Bytes, Bytes)>) -> Result<Submission, Unreadable> {
    let died = entry::decode(id, &with_members(letter))?;
    Ok(Submission {
        body: died.body,
        content_type: died.content_type,
        method: died.method,
        path: died.path,
        headers: died.headers,
        caller: died.caller,
        traceparent: died.traceparent,
        retries: died.retries,
        timeout: died.timeout,
        priority: died.priority,
        group: died.group,
        chain: died.chain,
        ..Submission::default()
    })
}

/// A job of this kind. Omits what a list doesn't support.
pub(super) fn fields_in(kind: Kind, job: Submission) -> NewFields {
    match kind {
        Kind::Stream => entry::encode(&job).fields().map(|(name, value)| (name, value.to_vec())).collect(),
        Kind::List => {
            let job = Submission { retries: None, priority: None, group: None, chain: Chain::default(), ..job };
            vec![("element", element::encode(&job).into_bytes())]
        }
    }
}
