use std::collections::{BTreeMap, BTreeSet};

use dripfeed_bucket::{KnownSchedule, RefusalReason, TickEnd};
use dripfeed_job::JobId;

use super::{CAPACITY, PERIOD};

type Schedules = BTreeMap<&'static str, KnownSchedule>;

/// A tick that an intake submits, of the schedule as it has read it.
pub(super) struct TickOf<'s> {
    pub(super) known: &'s KnownSchedule,
    pub(super) from: u64,
    pub(super) tick: u64,
    pub(super) may_overlap: bool,
}

#[derive(Default)]
pub(super) struct Ledger {
    jobs: BTreeMap<(String, u64), JobId>,
    waiting: BTreeSet<JobId>,
    called: BTreeSet<JobId>,
    /// By schedule: the ticks that were answered with a job in the latest call.
    answered: BTreeMap<String, u64>,
}

impl Ledger {
    pub(super) fn has_job(&mut self, name: &str, tick: u64, job: JobId) {
        let known = *self.jobs.entry((name.to_owned(), tick)).or_insert(job);
        assert_eq!(known, job, "another job for the tick {tick} of {name}");
        if !self.called.contains(&job) {
            self.waiting.insert(job);
        }
    }

    pub(super) fn called(&mut self, job: JobId) {
        assert!(self.waiting.remove(&job) && self.called.insert(job), "{job} isn't the job of a tick, or was called");
    }

    pub(super) fn all_were_called(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Checks the answers to ticks, in their order. `before`: the schedules as they were; `now_ms`: the clock of Redis
    /// before and after the calls.
    pub(super) fn submitted<'s>(
        &mut self,
        before: &Schedules,
        ticks: impl Iterator<Item = (TickOf<'s>, TickEnd)>,
        now_ms: [u64; 2],
    ) {
        self.answered.clear();
        // By schedule: its next tick, unless a tick was refused, and the last tick's job.
        let mut reached: BTreeMap<&str, (Option<u64>, Option<JobId>)> =
            before.iter().map(|(name, known)| (*name, (known.next_ms, known.state.last.map(|(_, job)| job)))).collect();
        for (TickOf { known, from, tick, may_overlap }, end) in ticks {
            let name = known.id.as_str();
            let is_same = before.get(name).is_some_and(|now| now.state.version == known.state.version);
            let (next, last) = reached.get(name).copied().unwrap_or_default();
            let is_next = is_same && next == Some(from);
            let [may_go, must_go] = now_ms.map(|now_ms| !is_next || tick > now_ms);
            let is_gone = end == TickEnd::Gone;
            assert!(is_gone || !must_go, "{tick} of {name} at {now_ms:?}: {end:?}, {before:?}");
            assert!(!is_gone || may_go, "{tick} of {name} at {now_ms:?} is the next one, and gone: {before:?}");
            let overlaps = !may_overlap && last.is_some_and(|job| self.waiting.contains(&job));
            assert!(is_gone || (end == TickEnd::Overlapped) == overlaps, "{tick} of {name}: {end:?}");
            let after = match end {
                TickEnd::Submitted(job) => {
                    self.has_job(name, tick, job);
                    *self.answered.entry(name.to_owned()).or_default() += 1;
                    (Some(tick + PERIOD * 1000), Some(job))
                }
                TickEnd::Overlapped | TickEnd::Missed => (Some(tick + PERIOD * 1000), last),
                TickEnd::Refused { reason, .. } => {
                    assert_eq!((reason, self.waiting.len() as u64), (RefusalReason::BucketFull, CAPACITY));
                    (Some(tick), last)
                }
                TickEnd::Gone => continue,
            };
            reached.insert(name, after);
        }
    }

    /// Each tick of a schedule that is still the same one has a job, or was counted.
    pub(super) fn compare(&self, before: &Schedules, after: &Schedules) {
        for (name, now) in after {
            let Some(then) = before.get(name).filter(|then| then.state.version == now.state.version) else { continue };
            let passed = match (then.next_ms, now.next_ms) {
                (Some(then), Some(now)) => (now - then) / (PERIOD * 1000),
                paused => {
                    assert_eq!(paused, (None, None), "{name}");
                    continue;
                }
            };
            let counted = |known: &KnownSchedule| known.state.missed + known.state.overlapped;
            let answered = self.answered.get(*name).copied().unwrap_or_default();
            assert_eq!(answered + counted(now) - counted(then), passed, "{then:?}, {now:?}");
        }
    }
}
