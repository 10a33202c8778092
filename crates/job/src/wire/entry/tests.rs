#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use std::time::Duration;

use bytes::Bytes;
use http::Method;

use super::encode::{COVERED, checksum, hexadecimal};
use super::*;
use crate::chain::Chain;
use crate::names::JobId;
use crate::path::UpstreamPath;
use crate::priority::Priority;
use crate::submission::Submission;

fn fields(pairs: &[(&str, &str)]) -> Vec<(Bytes, Bytes)> {
    pairs
        .iter()
        .map(|(name, value)| (Bytes::copy_from_slice(name.as_bytes()), Bytes::copy_from_slice(value.as_bytes())))
        .collect()
}

/// As it stands in the stream when it has a deadline.
fn written(submission: &Submission) -> Vec<(Bytes, Bytes)> {
    let new = encode(submission);
    assert_eq!(bytes_of(submission), new.bytes());
    let written = new.fields().chain([("expires", &b"1700000000000"[..])]);
    written.map(|(name, value)| (Bytes::from_static(name.as_bytes()), Bytes::copy_from_slice(value))).collect()
}

/// All that a submission says of the job itself.
pub(in crate::wire) fn assert_as_submitted(job: &Job, submission: &Submission) {
    assert_eq!(job.body, submission.body);
    assert_eq!(job.content_type, submission.content_type);
    assert_eq!(job.method, submission.method);
    assert_eq!(job.path, submission.path);
    assert_eq!(job.headers, submission.headers);
    assert_eq!(job.caller, submission.caller);
    assert_eq!(job.retries, submission.retries);
    assert_eq!(job.timeout, submission.timeout);
    assert_eq!((job.priority, &job.group), (submission.priority, &submission.group));
}

#[test]
fn a_job_reads_back_as_it_was_submitted() {
    let mut submission = Submission {
        body: Bytes::from_static(b"\x00\xffraw"),
        content_type: Some("application/octet-stream".to_owned()),
        method: Some(Method::PUT),
        path: UpstreamPath::parse("/a?b=c").ok(),
        caller: Some("alice".to_owned()),
        retries: Some(2),
        timeout: Some(Duration::from_millis(1500)),
        priority: Some(Priority::High),
        group: "tenant-17".parse().ok(),
        traceparent: Some(format!("00-{:032x}-{:016x}-01", 1, 2)),
        chain: Chain::from_field("1 *").unwrap(),
        ..Submission::default()
    };
    submission.headers.push("x-a", "1").unwrap();
    let job = decode(JobId::new(1, 0), &written(&submission)).unwrap();
    assert_as_submitted(&job, &submission);
    assert_eq!(job.expires_ms, Some(1_700_000_000_000));
    assert_eq!(job.bytes, encode(&submission).bytes() as u64);
}

#[test]
fn a_job_that_is_not_what_was_admitted_is_corrupt() {
    let whole = written(&Submission { body: Bytes::from_static(b"{\"n\":1}"), ..Submission::default() });
    let names = |entry: &[(Bytes, Bytes)]| entry.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    for (at, name) in names(&whole).into_iter().enumerate() {
        let name = std::str::from_utf8(&name).unwrap();
        let mut changed = whole.clone();
        changed[at].1 = Bytes::from_static(b"1");
        let corrupt = decode(JobId::new(1, 0), &changed).is_err_and(|error| error == Unreadable::Corrupt);
        // The last is the layout's version, which is 1 already.
        assert_eq!(corrupt, name == "sum" || COVERED.contains(&name) && name != "v", "{name}");
        changed.remove(at);
        let corrupt = decode(JobId::new(1, 0), &changed).is_err_and(|error| error == Unreadable::Corrupt);
        assert_eq!(corrupt, name == "body" || name == "sum", "{name} is missing");
    }
}

/// Each field more costs Redis time, on the way in and out.
#[test]
fn a_job_has_only_the_fields_that_say_something() {
    let names = |submission: &Submission| encode(submission).fields().map(|(name, _)| name).collect::<Vec<_>>();
    let plain = Submission { body: Bytes::from_static(b"{}"), ..Submission::default() };
    assert_eq!(names(&plain), FIELDS);
    let keyed = Submission { caller: Some("alice".to_owned()), retries: Some(2), ..plain };
    assert_eq!(names(&keyed), ["body", "content_type", "sum", "v", "caller", "retries"]);
}

/// Earlier releases wrote all fields of all jobs, in this order.
#[test]
fn an_entry_of_an_earlier_release_is_read() {
    let entry = [
        ("body", "{\"n\":1}"),
        ("content_type", "application/json"),
        ("method", ""),
        ("path", "/a"),
        ("headers", ""),
        ("caller", "alice"),
        ("traceparent", ""),
        ("due", ""),
        ("expires", "1700000000000"),
        ("retries", "2"),
        ("timeout", ""),
        ("sum", "4448632560812800"),
        ("v", "1"),
    ];
    let job = decode(JobId::new(1, 0), &fields(&entry)).unwrap();
    assert_eq!((job.body.as_ref(), job.caller.as_deref()), (b"{\"n\":1}".as_slice(), Some("alice")));
    assert_eq!((job.due_ms, job.expires_ms, job.retries), (None, Some(1_700_000_000_000), Some(2)));
    assert_eq!((job.timeout, job.traceparent), (None, None));
}

#[test]
fn a_foreign_entry_needs_a_body_alone() {
    let job = decode(JobId::new(1, 0), &fields(&[("body", "{}")])).unwrap();
    assert_eq!((job.body.as_ref(), job.bytes), (b"{}".as_slice(), 0));
    let job = decode(JobId::new(1, 0), &fields(&[("request_details", "x")])).unwrap();
    assert_eq!(job.body.as_ref(), b"x");
}

#[test]
fn an_invalid_entry_is_refused_with_the_field() {
    let decode = |pairs: &[(&str, &str)]| decode(JobId::new(1, 0), &fields(pairs)).map(|_| ());
    assert_eq!(decode(&[("n", "1")]), Err(Unreadable::NoBody));
    assert_eq!(decode(&[("body", ""), ("retries", "many")]), Err(Unreadable::Field("retries")));
    assert_eq!(decode(&[("body", ""), ("path", "/../x")]), Err(Unreadable::Field("path")));
    assert_eq!(decode(&[("body", ""), ("headers", "[1]")]), Err(Unreadable::Field("headers")));
}

fn of_parts(parts: &[&str]) -> [u8; 16] {
    checksum(parts.iter().map(|part| part.as_bytes()))
}

#[test]
fn every_byte_counts_and_so_does_where_it_stands() {
    assert_eq!(of_parts(&["a", "b"]), of_parts(&["a", "b"]));
    for other in [["a", "c"], ["ab", ""], ["", "ab"], ["b", "a"]] {
        assert_ne!(of_parts(&["a", "b"]), of_parts(&other), "{other:?}");
    }
}

/// Small parts are hashed together, large ones where they lie.
#[test]
fn a_checksum_is_that_of_all_parts_behind_one_another() {
    let bytes: Vec<u8> = (0..=255).cycle().take(5_000).collect();
    for lengths in [vec![], vec![0], vec![5_000], vec![495, 9, 0, 504, 505, 512, 513, 3, 900], vec![504], vec![3; 900]]
    {
        let mut left = &bytes[..];
        let parts = lengths.iter().map(|length| left.split_off(..*length).unwrap());
        let parts: Vec<&[u8]> = parts.collect();
        let led = parts.iter().flat_map(|part| [&(part.len() as u64).to_be_bytes()[..], part].concat());
        let whole = xxhash_rust::xxh3::xxh3_64(&led.collect::<Vec<u8>>());
        assert_eq!(checksum(parts.iter().copied()), hexadecimal(whole), "{lengths:?}");
    }
}

#[test]
fn a_checksum_has_all_digits() {
    for number in [0, 0xa1, 0x0123_4567_89ab_cdef, u64::MAX] {
        assert_eq!(hexadecimal(number), *format!("{number:016x}").as_bytes());
    }
}

/// A job that an older release wrote must not look corrupt to a newer one.
#[test]
fn the_checksum_stays_what_it_is() {
    assert_eq!(of_parts(&["body", "text/plain", ""]), *b"5671acfa4d21bfad");
}
