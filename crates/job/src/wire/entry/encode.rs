//! The fields of a new job's entry.

use std::borrow::Cow;

use http::Method;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::{FIELDS, LAYOUT};
use crate::group::Group;
use crate::path::UpstreamPath;
use crate::priority::Priority;
use crate::submission::Submission;
use crate::units::duration::ms_up;

/// The fields that the checksum covers, in order. A missing field counts as empty.
pub(super) const COVERED: [&str; 10] =
    ["body", "content_type", "method", "path", "headers", "caller", "traceparent", "retries", "timeout", "v"];

const CHECKSUM_DIGITS: usize = 16;
/// Bytes of small parts that are copied and hashed together: a call of the hash costs as much as a hundred bytes.
const SMALL_PARTS: usize = 512;

/// Name and value of an optional field.
type OptionalField<'a> = (&'static str, Cow<'a, str>);

/// The fields of a new job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry<'s> {
    /// The values of `FIELDS`.
    pub values: [Cow<'s, [u8]>; FIELDS.len()],
    /// Names and values of the optional fields.
    pub options: Vec<(&'static str, String)>,
}

impl NewEntry<'_> {
    /// Names and values, in their order.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        let values = FIELDS.into_iter().zip(self.values.iter().map(|value| &**value));
        values.chain(self.options.iter().map(|(name, value)| (*name, value.as_bytes())))
    }

    /// Returns the bytes that the job counts against `capacity_bytes`.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.fields().map(|(_, value)| value.len()).sum()
    }
}

/// Returns the fields of a new job without `due` and `expires`, which the admit script writes.
#[must_use]
pub fn encode(submission: &Submission) -> NewEntry<'_> {
    let content_type = submission.content_type.as_deref().unwrap_or_default();
    let (covered, uncovered) = options(submission);
    let first = [&submission.body[..], content_type.as_bytes()];
    let covered_values = covered.iter().map(|(_, value)| value.as_bytes());
    let sum = checksum(first.into_iter().chain(covered_values).chain([LAYOUT.as_bytes()]));
    let options = covered.into_iter().chain(uncovered).filter(|(_, value)| !value.is_empty());
    NewEntry {
        values: [
            submission.body[..].into(),
            content_type.as_bytes().into(),
            sum.to_vec().into(),
            LAYOUT.as_bytes().into(),
        ],
        options: options.map(|(name, value)| (name, value.into_owned())).collect(),
    }
}

/// Returns [`NewEntry::bytes`] of a submission, without encoding it.
#[must_use]
pub fn bytes_of(submission: &Submission) -> usize {
    let content_type = submission.content_type.as_ref().map_or(0, String::len);
    let (covered, uncovered) = options(submission);
    let options: usize = covered.iter().chain(&uncovered).map(|(_, value)| value.len()).sum();
    submission.body.len() + content_type + options + CHECKSUM_DIGITS + LAYOUT.len()
}

/// The optional fields, empty if unset. First those that the checksum covers: method, path and query, headers as JSON
/// `[[name, value]]`, caller, W3C trace context, retries after the first attempt, timeout of an attempt in ms. Earlier
/// releases wrote the first four into each job, even if empty.
///
/// Then those that earlier releases don't know: priority other than normal, group, outcome jobs. The checksum doesn't
/// cover these, so that replicas of earlier releases accept the job.
fn options(submission: &Submission) -> ([OptionalField<'_>; 7], [OptionalField<'_>; 3]) {
    let Submission { method, path, caller, traceparent, group, .. } = submission;
    let priority = submission.priority.filter(|priority| *priority != Priority::Normal);
    let covered = [
        ("method", text(method.as_ref().map(Method::as_str))),
        ("path", text(path.as_ref().map(UpstreamPath::as_str))),
        ("headers", submission.headers.to_field().into()),
        ("caller", text(caller.as_deref())),
        ("traceparent", text(traceparent.as_deref())),
        ("retries", number(submission.retries.map(u64::from))),
        ("timeout", number(submission.timeout.map(ms_up))),
    ];
    let uncovered = [
        ("priority", text(priority.map(Priority::as_str))),
        ("group", text(group.as_ref().map(Group::as_str))),
        ("chain", submission.chain.to_field().into()),
    ];
    (covered, uncovered)
}

fn text(value: Option<&str>) -> Cow<'_, str> {
    value.unwrap_or_default().into()
}

fn number(value: Option<u64>) -> Cow<'static, str> {
    value.map(|number| number.to_string()).unwrap_or_default().into()
}

/// Returns the checksum by which a replica detects a corrupt job. It doesn't protect against attacks: those that may
/// write to Redis can write another checksum, too. XXH3 over the parts, each prefixed by its length, in hexadecimal
/// digits; takes about 100 ns for a job of 2 KiB.
pub(super) fn checksum<'a>(parts: impl Iterator<Item = &'a [u8]>) -> [u8; CHECKSUM_DIGITS] {
    let (mut small, mut filled) = ([0; SMALL_PARTS], 0);
    let mut hash: Option<Xxh3Default> = None;
    for part in parts {
        for bytes in [&(part.len() as u64).to_be_bytes()[..], part] {
            if bytes.len() > SMALL_PARTS - filled {
                hash.get_or_insert_default().update(&small[..filled]);
                filled = 0;
            }
            if bytes.len() > SMALL_PARTS {
                hash.get_or_insert_default().update(bytes);
            } else {
                small[filled..filled + bytes.len()].copy_from_slice(bytes);
                filled += bytes.len();
            }
        }
    }
    hexadecimal(match hash {
        None => xxh3_64(&small[..filled]),
        Some(mut hash) => {
            hash.update(&small[..filled]);
            hash.digest()
        }
    })
}

/// Returns the same as `{:016x}`, but much faster.
pub(super) fn hexadecimal(number: u64) -> [u8; CHECKSUM_DIGITS] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";

    let mut text = [0; CHECKSUM_DIGITS];
    for (at, byte) in number.to_be_bytes().into_iter().enumerate() {
        text[2 * at] = DIGITS[usize::from(byte >> 4)];
        text[2 * at + 1] = DIGITS[usize::from(byte & 0xf)];
    }
    text
}
