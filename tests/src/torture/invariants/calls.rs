use std::collections::HashMap;
use std::time::{Duration, Instant};

use dripfeed_job::JobId;

use super::{Outcomes, Seen, some};
use crate::torture::jobs::PlannedAnswer;
use crate::torture::report::Report;
use crate::torture::upstream::Call;

/// Maximum difference between two clocks that are read one after the other.
const CLOCKS_MS: u64 = 5;
/// The time before and after a call of which log lines are shown.
const LOG_WINDOW: Duration = Duration::from_secs(6);
/// Maximum time until a replica knows that it was declared dead.
const NOTICED: Duration = Duration::from_secs(5);

pub(super) fn check(seen: &Seen<'_>, ended: &Outcomes, report: &mut Report) {
    let broken: Vec<_> = seen.calls.iter().filter(|call| call.number.is_some() && !call.intact).collect();
    report.must(broken.is_empty(), || {
        format!("bodies that arrived otherwise than they were submitted: {}", some(&broken))
    });

    let mut by_job: HashMap<JobId, Vec<&Call>> = HashMap::new();
    for call in &seen.calls {
        by_job.entry(call.job).or_default().push(call);
    }
    let causes = Causes::of(seen);
    for (job, calls) in by_job {
        let mut duplicates = 0;
        for (before, again) in calls.iter().zip(&calls[1..]) {
            if is_repeated(before, again) {
                duplicates += 1;
                match causes.between(before, again) {
                    Some(cause) => *report.duplicates.entry(cause.to_owned()).or_default() += 1,
                    None => {
                        let last = seen.event_log.last_before(before.slot, before.at);
                        let said = [before, again].map(|call| log_around(seen, call)).join("\n");
                        report.violations.push(format!(
                            "{job} was called again without a cause, {last:?} after the last fault there: {before:?}, \
                             {again:?}; both processors said meanwhile:\n{said}"
                        ));
                    }
                }
            }
        }
        let (mut failures, mut by_faults) = (0, 0);
        for (before, call) in calls.iter().zip(&calls[1..]) {
            failures += u32::from(matches!(
                before.answer,
                Some(PlannedAnswer::Failed | PlannedAnswer::Silent | PlannedAnswer::Cut)
            ));
            let spent_by_faults = call.attempt.saturating_sub(failures + 1);
            // An attempt without a call may have been that of any processor.
            let excused = spent_by_faults <= by_faults || causes.anywhere(before.at, call.at);
            report.must(excused, || format!("{job} was spent an attempt by nothing of its upstream's: {calls:?}"));
            by_faults = by_faults.max(spent_by_faults);
        }
        let throttled = calls.iter().filter(|call| call.answer == Some(PlannedAnswer::Throttled)).count();
        let attempts = calls.len() - throttled.min(calls.len()) - duplicates;
        let allowed = seen.harness.setup.attempts as usize;
        report.must(attempts <= allowed, || format!("{job} got {attempts} attempts of {allowed}: {calls:?}"));
        if ended.get(&job).is_some_and(|ended| ended.result == "cancelled") {
            let delivered = calls.iter().find(|call| call.answer == Some(PlannedAnswer::Ok));
            let excused = delivered.is_none_or(|call| causes.on(call.slot, call.at, call.at).is_some());
            report.must(excused, || format!("{job} was delivered and ended as cancelled: {calls:?}"));
        }
        let success = ended.get(&job).filter(|ended| ended.result == "delivered");
        let Some(success) = success else { continue };
        for call in calls.iter().filter(|call| call.wall_ms > success.at_ms + CLOCKS_MS) {
            let excused = causes.on(call.slot, call.at - NOTICED, call.at).is_some();
            report.must(excused, || format!("{job} was called after its success at {}: {call:?}", success.at_ms));
        }
    }
}

/// The log lines of a call's processor in the seconds around it.
fn log_around(seen: &Seen<'_>, call: &Call) -> String {
    let logs = seen.harness.processors[call.slot].logs();
    let lines = logs.iter().map(|log| log.text_between(call.at - LOG_WINDOW, call.at + LOG_WINDOW));
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a call repeats the previous one: not if that was throttled, which repeats an attempt, or failed, which is
/// followed by the next attempt.
fn is_repeated(before: &Call, again: &Call) -> bool {
    match before.answer {
        Some(PlannedAnswer::Throttled) => false,
        Some(PlannedAnswer::Failed | PlannedAnswer::Silent | PlannedAnswer::Cut) => again.attempt <= before.attempt,
        Some(PlannedAnswer::Ok) | None => true,
    }
}

/// The events that can keep a call from being settled.
struct Causes<'s> {
    seen: &'s Seen<'s>,
    /// When each processor learned that it had been declared dead.
    declared_dead: Vec<Vec<Instant>>,
    faults: Vec<crate::torture::event_log::LoggedFault>,
}

impl<'s> Causes<'s> {
    fn of(seen: &'s Seen<'s>) -> Self {
        let learned = |slot: &crate::torture::process_slot::ProcessSlot| {
            slot.logs().iter().flat_map(|log| log.times_of("declared dead")).collect::<Vec<_>>()
        };
        let declared_dead = seen.harness.processors.iter().map(learned).collect();
        Self { seen, declared_dead, faults: seen.event_log.faults() }
    }

    fn between(&self, before: &Call, again: &Call) -> Option<&'static str> {
        let delayed = || self.faults.iter().find(|fault| fault.delayed(again.slot, before.at, again.at));
        self.on(before.slot, before.at, again.at).or_else(|| delayed().map(|fault| fault.what))
    }

    fn anywhere(&self, from: Instant, until: Instant) -> bool {
        (0..self.declared_dead.len()).any(|processor| self.on(processor, from, until).is_some())
    }

    fn on(&self, processor: usize, from: Instant, until: Instant) -> Option<&'static str> {
        debug_assert!(processor < self.seen.harness.processors.len());
        let fault = self.faults.iter().find(|fault| fault.came_between(processor, from, until)).map(|fault| fault.what);
        let fenced = || self.declared_dead[processor].iter().any(|at| (from..until + NOTICED).contains(at));
        fault.or_else(|| fenced().then_some("declared dead"))
    }
}
