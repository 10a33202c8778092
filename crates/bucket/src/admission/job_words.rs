//! The jobs of a batch as arguments of admit.lua. A value that all of them have in common is sent once, since each
//! argument costs Redis as much as some hundred bytes of a body.

use dripfeed_job::duration::ms_up;
use dripfeed_job::entry::{self, FIELDS, NewEntry};
use dripfeed_job::fingerprint::fingerprint;
use dripfeed_job::{StartTime, Submission, element};
use dripfeed_store::Call;

use crate::admission::admission_request::AdmissionRequest;
use crate::settings::Kind;

/// The script's name of the field with the element of a list.
const ELEMENT: &str = "element";
/// An element is sent without its first brace, which the script replaces by the element's head. The brace is counted.
const BRACE: &str = "{";
/// A field of all jobs if each of them has a caller; admit.lua knows it by this name.
const CALLER: &str = "caller";
/// Fields that usually differ between jobs: their values aren't compared.
const DIFFERENT: [&str; 2] = ["body", "sum"];

/// Names and values.
type Options = Vec<(&'static str, Vec<u8>)>;

/// The options of a job that are for the script, not for the entry. `once`: the index of its idempotency key.
pub(super) fn options_for_script(request: &AdmissionRequest, once: Option<usize>) -> Options {
    let submission = &request.submission;
    let mut options = Options::new();
    if let Some(index) = once {
        options.push(("@once", index.to_string().into_bytes()));
        options.push(("@fingerprint", fingerprint(submission).into_bytes()));
    }
    match submission.start {
        StartTime::AtOnce => {}
        StartTime::After(delay) => options.push(("@start", format!("+{}", ms_up(delay)).into_bytes())),
        StartTime::At(ms) => options.push(("@start", ms.to_string().into_bytes())),
    }
    let deadline = request.deadline();
    if !deadline.is_empty() {
        options.push(("@expires", deadline.into_bytes()));
    }
    options
}

/// The bytes that a job counts against `capacity_bytes`.
pub(super) fn size_of(kind: Kind, submission: &Submission) -> usize {
    match kind {
        Kind::Stream => entry::bytes_of(submission),
        Kind::List => element::encode(submission).len(),
    }
}

/// Adds the jobs, each with its options for the script and the plan of its limits, which is empty if none applies.
pub(super) fn add_jobs(
    call: &mut Call<'static>,
    kind: Kind,
    requests: &[AdmissionRequest],
    options: Vec<Options>,
    plans: &[Vec<u8>],
) {
    match kind {
        Kind::Stream => add_entries(call, requests, options, plans),
        Kind::List => add_elements(call, requests, options, plans),
    }
}

fn add_entries(call: &mut Call<'static>, requests: &[AdmissionRequest], options: Vec<Options>, plans: &[Vec<u8>]) {
    let entries: Vec<NewEntry<'_>> = requests.iter().map(|request| entry::encode(&request.submission)).collect();
    let columns = columns(&entries);
    let differs = |values: &[&[u8]]| values.windows(2).any(|pair| pair[0] != pair[1]);
    let is_own = |field: &usize| DIFFERENT.contains(&columns[*field].0) || differs(&columns[*field].1);
    let own: Vec<usize> = (0..columns.len()).filter(is_own).collect();
    call.arg(columns.len()).args(columns.iter().map(|(name, _)| *name));
    for (field, (_, values)) in columns.iter().enumerate() {
        call.arg(values.first().filter(|_| !own.contains(&field)).copied().unwrap_or_default());
    }
    let extras: Vec<Vec<_>> = entries.iter().map(|entry| extra_fields(entry, &columns)).collect();
    let has_more = extras.iter().zip(&options).any(|(extra, options)| !extra.is_empty() || !options.is_empty());
    let has_limits = add_places(call, &own, has_more, plans);
    for (job, ((extra, options), plan)) in extras.iter().zip(options).zip(plans).enumerate() {
        if has_more {
            call.arg(extra.len() + options.len());
        }
        if has_limits {
            call.arg(&plan[..]);
        }
        call.args(own.iter().map(|field| columns[*field].1[job]));
        call.args(extra.iter().flat_map(|(name, value)| [*name, value.as_str()]));
        call.args(options.iter().flat_map(|(name, value)| [name.as_bytes(), value]));
    }
}

/// A field that each job has, and the value of each.
type Column<'e> = (&'static str, Vec<&'e [u8]>);

/// The caller is one of them if each job has one, as with API keys.
fn columns<'e>(entries: &'e [NewEntry<'_>]) -> Vec<Column<'e>> {
    let values = |field: usize| entries.iter().map(|entry| &*entry.values[field]).collect();
    let callers: Option<Vec<_>> = entries.iter().map(caller_of).collect();
    let fields = FIELDS.into_iter().enumerate().map(|(field, name)| (name, values(field)));
    fields.chain(callers.map(|callers| (CALLER, callers))).collect()
}

fn caller_of<'e>(entry: &'e NewEntry<'_>) -> Option<&'e [u8]> {
    entry.options.iter().find(|(name, _)| *name == CALLER).map(|(_, caller)| caller.as_bytes())
}

/// The fields of an entry that aren't columns.
fn extra_fields<'e>(entry: &'e NewEntry<'_>, columns: &[Column<'_>]) -> Vec<&'e (&'static str, String)> {
    entry.options.iter().filter(|(name, _)| columns.iter().all(|(column, _)| column != name)).collect()
}

fn add_elements(call: &mut Call<'static>, requests: &[AdmissionRequest], mut options: Vec<Options>, plans: &[Vec<u8>]) {
    for (request, options) in requests.iter().zip(&mut options) {
        options.extend(request.submission.caller.as_ref().map(|caller| ("@caller", caller.clone().into_bytes())));
    }
    let has_more = options.iter().any(|options| !options.is_empty());
    call.arg(1).arg(ELEMENT).arg(BRACE);
    let has_limits = add_places(call, &[0], has_more, plans);
    for ((request, options), plan) in requests.iter().zip(options).zip(plans) {
        if has_more {
            call.arg(options.len());
        }
        if has_limits {
            call.arg(&plan[..]);
        }
        let element = element::encode(&request.submission);
        call.arg(element.strip_prefix(BRACE).unwrap_or(&element));
        call.args(options.iter().flat_map(|(name, value)| [name.as_bytes(), value]));
    }
}

/// Adds which columns have a value per job, whether some jobs have more fields, and whether limits apply to some jobs,
/// which it returns.
fn add_places(call: &mut Call<'static>, own: &[usize], has_more: bool, plans: &[Vec<u8>]) -> bool {
    let digits = own.iter().filter_map(|field| char::from_digit(u32::try_from(field + 1).ok()?, 10));
    let has_limits = plans.iter().any(|plan| !plan.is_empty());
    let word = |is_so| if is_so { "1" } else { "" };
    call.arg(digits.collect::<String>()).arg(word(has_more)).arg(word(has_limits));
    has_limits
}
