//! The arguments of settle.lua for a batch, and its answer.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use dripfeed_job::duration::ms_up;
use dripfeed_job::outcome::AnswerBody;
use dripfeed_job::{Chain, Ending, JobId, Outcome};
use dripfeed_store::Call;

use super::ended_attempt::{BoxedAttempt, EndedAttempt, Settlement};
use crate::deliver::take::Claim;
use crate::script::redis_bucket::EffectiveSettings;
use crate::settings::Leak;

/// The length of most jobs' bytes, as digits with a space.
const SIZE_LENGTH: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleResult {
    Recorded,
    /// The job is to be dead-lettered, and waits in the bucket for room among the dead letters. If the first answer of
    /// Redis was lost, this is reported as `Recorded`.
    WaitsForRoom,
    /// Another replica has ended the job meanwhile, as Redis had lost the claim. Nothing was recorded. If the first
    /// answer of Redis was lost, this is reported as `Recorded`.
    EndedBefore,
    /// The replica was declared dead: another one has the job, and nothing was changed.
    Fenced,
}

impl SettleResult {
    /// The result of each attempt of a batch, in order, from the script's answer.
    pub(crate) fn each_of(answer: &str, batch: &[BoxedAttempt]) -> Vec<Self> {
        if answer == "fenced" {
            return vec![Self::Fenced; batch.len()];
        }
        let words = || answer.split(' ').skip(1);
        let waiting: Vec<JobId> = words().filter_map(|id| id.parse().ok()).collect();
        let over: Vec<JobId> = words().filter_map(|word| word.strip_prefix('=')?.parse().ok()).collect();
        let settled = |id| match id {
            id if waiting.contains(id) => Self::WaitsForRoom,
            id if over.contains(id) => Self::EndedBefore,
            _ => Self::Recorded,
        };
        batch.iter().map(|ended| settled(&ended.claim.id)).collect()
    }
}

/// For the adaptive rate: how the upstream reacted to each call, and when its job was taken.
pub(super) fn packed_calls(batch: &[BoxedAttempt]) -> String {
    let called = batch.iter().filter(|ended| ended.was_called());
    called.map(|ended| format!("{} {} ", ended.reaction(), ended.claim.taken_ms)).collect()
}

/// Adds the id of a job, or its element in a list.
pub(super) fn add_job(call: &mut Call<'_>, claim: &Claim) {
    match &claim.element {
        None => call.shown(claim.id),
        Some(element) => call.arg(&element[..]),
    };
}

/// The caller whose share the job counts against. Entries of a plain `XADD` count 0 bytes, and belong to no caller.
fn counted_caller(claim: &Claim) -> Option<&str> {
    claim.caller.as_deref().filter(|caller| claim.bytes > 0 && !caller.is_empty())
}

/// Adds the completed jobs of a batch: their bytes, in all, by caller and of each, and their records. If all records
/// are equal, one is sent, as each argument costs Redis as much as some hundred bytes of a body.
pub(super) fn add_completed(call: &mut Call<'_>, batch: &[BoxedAttempt]) {
    let mut completed: Vec<_> = batch.iter().filter_map(|ended| Some((&ended.claim, ended.answer()?))).collect();
    completed.sort_by_key(|(claim, _)| counted_caller(claim));
    let (mut freed, mut callers) = (0, BTreeMap::<_, (u64, u64)>::new());
    let mut sizes = String::with_capacity(completed.len() * SIZE_LENGTH);
    for (claim, _) in &completed {
        freed += claim.bytes;
        // Writing to a string can't fail.
        let _ = write!(sizes, "{} ", claim.bytes);
        if let Some(caller) = counted_caller(claim) {
            let (jobs, bytes) = callers.entry(caller).or_default();
            (*jobs, *bytes) = (*jobs + 1, *bytes + claim.bytes);
        }
    }
    let delivered = |(claim, (status, answer)): &(&Claim, (u16, Option<&AnswerBody>))| {
        record(claim, Ending::Delivered, None, Some(*status), claim.failures + 1, *answer)
    };
    let mut records: Vec<String> = completed.iter().map(delivered).collect();
    if records.windows(2).all(|pair| pair[0] == pair[1]) {
        records.truncate(1);
    }
    call.arg(freed).arg(callers.len()).arg(completed.len()).arg(records.len()).arg(sizes);
    for (claim, _) in &completed {
        add_job(call, claim);
    }
    call.args(&records);
    for (caller, (jobs, bytes)) in callers {
        call.arg(caller).arg(jobs).arg(bytes);
    }
}

fn record(
    claim: &Claim,
    result: Ending,
    reason: Option<&str>,
    status: Option<u16>,
    attempts: u32,
    answer: Option<&AnswerBody>,
) -> String {
    let (reason, caller) = (reason.map(str::to_owned), claim.caller.clone());
    Outcome { result, reason, status, attempts, caller, answer: answer.cloned() }.to_record()
}

/// What is kept of ended jobs, and the targets of `on_outcome`; if there are any, also the chain of each job.
pub(super) fn packed_ends(effective: &EffectiveSettings, batch: &[BoxedAttempt]) -> String {
    let mut packed = effective.ends.clone();
    if !effective.settings.on_outcome.is_empty() {
        for claim in batch.iter().map(|ended| &ended.claim).filter(|claim| claim.chain != Chain::default()) {
            packed += &format!("\nof {} {}", claim.id, claim.chain.to_field());
        }
    }
    packed
}

/// Adds the verb of a job that isn't completed, and its arguments. `failed`: the record of its failed attempt.
pub(super) fn add_verb(call: &mut Call<'_>, ended: &EndedAttempt, leak: &Leak, failed: &str) {
    let EndedAttempt { claim, settlement, .. } = ended;
    match settlement {
        // See `add_completed`.
        Settlement::Complete { .. } => {}
        // A job with an element is in a list bucket.
        Settlement::Retry { .. } if claim.element.is_some() => {
            let reason = "the attempt failed, and a list bucket doesn't retry";
            let record = record(claim, Ending::Dead, Some(reason), None, claim.failures + 1, None);
            call.arg("bury").arg(record).arg(reason).arg(failed);
        }
        Settlement::Retry { after } => {
            call.arg("park").arg(ms_up(*after)).arg("1").arg(failed);
        }
        Settlement::Throttled { .. } => {
            call.arg("park").arg(ended.throttle_ms(leak)).arg("0").arg("");
        }
        Settlement::Requeue => {
            call.arg("park").arg(0).arg("").arg("");
        }
        Settlement::Bury { reason, status, answer, called } => {
            let attempts = claim.failures + u32::from(*called);
            let record = record(claim, Ending::Dead, Some(reason), *status, attempts, answer.as_ref());
            call.arg("bury").arg(record).arg(reason).arg(failed);
        }
    }
}

/// The mean duration of the batch's calls in µs; 0 if none was made.
pub(super) fn mean_us(batch: &[BoxedAttempt]) -> u64 {
    let called = || batch.iter().filter(|ended| ended.was_called());
    let calls = called().count() as u128;
    let sum: u128 = called().map(|ended| ended.lasted.as_micros()).sum();
    u64::try_from(sum.checked_div(calls).unwrap_or(0)).unwrap_or(u64::MAX)
}
