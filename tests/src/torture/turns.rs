//! Whether callers took turns: calls per weight, after each take, as Redis itself handed them out.

use std::collections::{HashMap, HashSet};

use dripfeed_job::JobId;

use super::harness::Harness;
use super::jobs::GROUPS;

/// A step of Redis that turns depend on.
#[derive(Clone, Debug)]
pub enum TurnEvent {
    /// A script begins: what the one before it did is whole.
    Script,
    /// A job of this group was added.
    Added(usize),
    /// These were handed out to a processor.
    Claimed(Vec<JobId>),
    /// Somebody deleted the index.
    IndexDeleted,
    /// All that waits is in the index again.
    Sorted,
}

/// Words of an XCLAIM before its ids: name, key, group, consumer and time.
const BEFORE_IDS: usize = 5;
/// The flow of what isn't sorted in.
const UNSORTED: &str = "0 ";

/// Reads them from what Redis carries out.
pub fn read(of_script: bool, words: &[String]) -> Option<TurnEvent> {
    let [name, rest @ ..] = words else { return None };
    if name.eq_ignore_ascii_case("EVALSHA") || name.eq_ignore_ascii_case("EVAL") {
        return Some(TurnEvent::Script);
    }
    let key = rest.first()?;
    match name.as_str() {
        "XADD" if *key == Harness::key("jobs") => {
            let at = rest.iter().position(|word| word == "group")?;
            Some(TurnEvent::Added(rest.get(at + 1)?.strip_prefix('g')?.parse().ok()?))
        }
        "XCLAIM" if *key == Harness::key("jobs") && words[3] != "@parked" => {
            Some(TurnEvent::Claimed(words[BEFORE_IDS..].iter().map_while(|word| word.parse().ok()).collect()))
        }
        "DEL" if *key == Harness::key("flows") && !of_script => Some(TurnEvent::IndexDeleted),
        "ZREM" if *key == Harness::key("flows") && rest.iter().any(|word| word == UNSORTED) => Some(TurnEvent::Sorted),
        _ => None,
    }
}

/// What was seen of all turns.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TurnsSeen {
    /// Takes after which calls were compared.
    pub takes: u64,
    /// Calls of groups that waited beside others.
    pub calls: u64,
    /// How far two groups were apart, in percent of what they may be.
    pub farthest_apart: u64,
    pub violations: Vec<String>,
}

struct Turns<'t> {
    weights: &'t [u64; GROUPS],
    group_of: &'t HashMap<JobId, usize>,
    /// Jobs that were never handed out.
    waiting: [i64; GROUPS],
    handed_out: HashSet<JobId>,
    /// Since when calls are compared.
    calls: [u64; GROUPS],
    /// Whether it has waited ever since; where the index was deleted nobody has.
    waits: [bool; GROUPS],
    /// How many calls of each group lie between two at most.
    bound: u64,
    seen: TurnsSeen,
}

/// Compares the calls of groups for as long as they wait. Between any two of them calls per weight differ by at most
/// one call of each; from a moment at which they differed, as after the index was deleted, by twice that.
pub fn check(events: &[TurnEvent], weights: &[u64; GROUPS], group_of: &HashMap<JobId, usize>) -> TurnsSeen {
    let mut turns = Turns {
        weights,
        group_of,
        waiting: [0; GROUPS],
        handed_out: HashSet::new(),
        calls: [0; GROUPS],
        waits: [false; GROUPS],
        bound: 1,
        seen: TurnsSeen::default(),
    };
    let (mut has_begun, mut is_new) = (false, false);
    for event in events {
        match event {
            TurnEvent::Script if is_new => {
                turns.compare();
                is_new = false;
            }
            TurnEvent::Script => {}
            TurnEvent::Added(group) => turns.waiting[*group] += 1,
            TurnEvent::Claimed(jobs) => {
                if !has_begun {
                    turns.begin();
                    has_begun = true;
                }
                jobs.iter().for_each(|job| turns.call(*job));
                is_new = true;
            }
            TurnEvent::IndexDeleted => turns.waits = [false; GROUPS],
            TurnEvent::Sorted if has_begun => {
                turns.bound = 2;
                turns.begin();
            }
            TurnEvent::Sorted => {}
        }
    }
    turns.seen
}

impl Turns<'_> {
    fn begin(&mut self) {
        self.calls = [0; GROUPS];
        self.waits = self.waiting.map(|waiting| waiting > 0);
    }

    fn call(&mut self, job: JobId) {
        let Some(group) = self.group_of.get(&job).copied() else { return };
        if self.handed_out.insert(job) {
            self.waiting[group] -= 1;
        }
        self.calls[group] += 1;
        self.seen.calls += u64::from(self.waits[group]);
    }

    /// One of whom nothing waits any more gets no call that it could have had.
    fn compare(&mut self) {
        for (waits, waiting) in self.waits.iter_mut().zip(self.waiting) {
            *waits &= waiting > 0;
        }
        let there: Vec<usize> = (0..GROUPS).filter(|group| self.waits[*group]).collect();
        self.seen.takes += u64::from(there.len() > 1);
        for (n, one) in there.iter().enumerate() {
            for other in &there[n + 1..] {
                self.compare_two(*one, *other);
            }
        }
    }

    /// Both sides times the two weights, so that nothing is rounded.
    fn compare_two(&mut self, one: usize, other: usize) {
        let (calls, weights) = ([one, other].map(|group| self.calls[group]), [one, other].map(|n| self.weights[n]));
        let apart = (calls[0] * weights[1]).abs_diff(calls[1] * weights[0]);
        let most = self.bound * (weights[0] + weights[1]);
        if apart > most {
            self.seen.violations.push(format!("g{one} and g{other} got {calls:?} calls while both waited"));
        }
        self.seen.farthest_apart = self.seen.farthest_apart.max(apart * 100 / most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(group: usize, n: usize) -> JobId {
        format!("{}-{n}", group + 1).parse().expect("an id")
    }

    /// Ten jobs of each of the first three groups, handed out in this order, `at_once` in each take.
    fn seen(order: &[usize], at_once: usize, weights: [u64; GROUPS]) -> TurnsSeen {
        let group_of = (0..3).flat_map(|group| (0..10).map(move |n| (job(group, n), group))).collect();
        let mut events: Vec<_> = (0..30).map(|n| TurnEvent::Added(n % 3)).collect();
        let mut next = [0; 3];
        for take in order.chunks(at_once) {
            let jobs = take.iter().map(|group| {
                next[*group] += 1;
                job(*group, next[*group] - 1)
            });
            events.extend([TurnEvent::Script, TurnEvent::Claimed(jobs.collect())]);
        }
        events.push(TurnEvent::Script);
        check(&events, &weights, &group_of)
    }

    #[test]
    fn who_gets_more_than_a_turn_is_found() {
        let fair = seen(&[0, 1, 2, 0, 1, 2, 0, 1, 2], 1, [1; GROUPS]);
        assert_eq!((fair.takes, fair.calls, fair.violations.len()), (9, 9, 0), "{fair:?}");
        let unfair = seen(&[0, 0, 0, 1, 2, 0, 1, 2], 1, [1; GROUPS]);
        assert_eq!(unfair.violations.len(), 6, "{unfair:?}");
        let mut weights = [1; GROUPS];
        weights[0] = 4;
        assert_eq!(seen(&[0, 0, 0, 0, 1, 2, 0, 0, 0], 3, weights).violations, Vec::<String>::new());
        assert!(!seen(&[0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2], 3, weights).violations.is_empty());
    }

    #[test]
    fn a_group_of_which_nothing_waits_is_left_out() {
        let mut weights = [1; GROUPS];
        weights[2] = 5;
        let order = [[0, 1, 2, 2, 2, 2, 2]; 2].concat().into_iter().chain([0, 1].repeat(8));
        let seen = seen(&order.collect::<Vec<_>>(), 1, weights);
        assert_eq!(seen.violations, Vec::<String>::new());
    }
}
