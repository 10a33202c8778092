//! Checks fair queuing by the commands of Redis: calls per weight after each take, and higher priorities first.

use std::collections::{HashMap, HashSet};

use dripfeed_job::JobId;

use super::harness::Harness;
use super::jobs::{GROUPS, PRIORITIES};

/// The waiting jobs of a group with one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flow {
    /// The index of the priority.
    pub priority: usize,
    pub group: usize,
}

/// A value for each flow, by priority and group.
type OfFlows<T> = [[T; GROUPS]; PRIORITIES.len()];

/// An event in Redis that affects turns.
#[derive(Clone, Debug)]
pub enum TurnEvent {
    /// A script begins, so the previous one is complete.
    Script,
    /// A job was added.
    Added(Flow),
    /// Jobs were handed out to a processor.
    Claimed(Vec<JobId>),
    /// The index was deleted by hand.
    IndexDeleted,
    /// All waiting jobs are in the index again.
    Sorted,
}

/// The number of words of an XCLAIM before its ids: name, key, group, consumer and time.
const BEFORE_IDS: usize = 5;
/// The flow of jobs that aren't sorted yet.
const UNSORTED: &str = "0 ";

/// Parses an event from a command of Redis.
pub fn read(of_script: bool, words: &[String]) -> Option<TurnEvent> {
    let [name, rest @ ..] = words else { return None };
    if name.eq_ignore_ascii_case("EVALSHA") || name.eq_ignore_ascii_case("EVAL") {
        return Some(TurnEvent::Script);
    }
    let key = rest.first()?;
    match name.as_str() {
        "XADD" if *key == Harness::key("jobs") => {
            let value_of = |field: &str| rest.get(rest.iter().position(|word| word == field)? + 1);
            let group = value_of("group")?.strip_prefix('g')?.parse().ok()?;
            Some(TurnEvent::Added(Flow { priority: place_of(value_of("priority").map(String::as_str)), group }))
        }
        "XCLAIM" if *key == Harness::key("jobs") && words[3] != "@parked" => {
            Some(TurnEvent::Claimed(words[BEFORE_IDS..].iter().map_while(|word| word.parse().ok()).collect()))
        }
        "DEL" if *key == Harness::key("flows") && !of_script => Some(TurnEvent::IndexDeleted),
        "ZREM" if *key == Harness::key("flows") && rest.iter().any(|word| word == UNSORTED) => Some(TurnEvent::Sorted),
        _ => None,
    }
}

/// The index of a job's priority.
pub fn place_of(priority: Option<&str>) -> usize {
    PRIORITIES.iter().position(|of| Some(*of) == priority).unwrap_or(1)
}

/// The results of the check.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TurnsSeen {
    /// The number of takes after which calls were compared.
    pub takes: u64,
    /// The number of calls of groups while others waited.
    pub calls: u64,
    /// The maximum difference between two groups, in percent of the allowed one.
    pub farthest_apart: u64,
    /// The number of priorities of called jobs.
    pub priorities: usize,
    pub violations: Vec<String>,
}

struct Turns<'t> {
    weights: &'t [u64; GROUPS],
    flow_of: &'t HashMap<JobId, Flow>,
    /// The number of jobs that were never handed out.
    waiting: OfFlows<i64>,
    handed_out: HashSet<JobId>,
    /// The jobs handed out by the current script. Two of its commands may name the same job.
    handed_out_at_once: HashSet<JobId>,
    /// The calls since the start of the comparison.
    calls: OfFlows<u64>,
    /// Whether a flow has waited since then; false for all after the index was deleted.
    waits: OfFlows<bool>,
    /// The index of the lowest priority that the last take has handed out.
    lowest: Option<usize>,
    /// Whether all waiting jobs are in the index.
    is_sorted: bool,
    /// The allowed difference between two groups, in calls of each.
    bound: u64,
    seen: TurnsSeen,
}

/// Compares the calls of groups while they wait at one priority. Calls per weight of any two of them may differ by at
/// most one call of each, or by twice that if they already differed at the start, as after the index was deleted. A
/// group that comes and goes may have as many more than one that waits, as with its retries. No job may be called while
/// one with a higher priority waits.
pub fn check(events: &[TurnEvent], weights: &[u64; GROUPS], flow_of: &HashMap<JobId, Flow>) -> TurnsSeen {
    let mut turns = Turns {
        weights,
        flow_of,
        waiting: OfFlows::default(),
        handed_out: HashSet::new(),
        handed_out_at_once: HashSet::new(),
        calls: OfFlows::default(),
        waits: OfFlows::default(),
        lowest: None,
        is_sorted: true,
        bound: 1,
        seen: TurnsSeen::default(),
    };
    let mut has_begun = false;
    for event in events {
        match event {
            TurnEvent::Script => turns.compare(),
            TurnEvent::Added(flow) => turns.waiting[flow.priority][flow.group] += 1,
            TurnEvent::Claimed(jobs) => {
                if !has_begun {
                    turns.begin();
                    has_begun = true;
                }
                jobs.iter().for_each(|job| turns.call(*job));
            }
            TurnEvent::IndexDeleted => (turns.waits, turns.is_sorted) = (OfFlows::default(), false),
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
        self.calls = OfFlows::default();
        self.waits = self.waiting.map(|groups| groups.map(|waiting| waiting > 0));
        self.is_sorted = true;
    }

    fn call(&mut self, job: JobId) {
        let Some(Flow { priority, group }) = self.flow_of.get(&job).copied() else { return };
        if !self.handed_out_at_once.insert(job) {
            return;
        }
        if self.handed_out.insert(job) {
            self.waiting[priority][group] -= 1;
        }
        self.calls[priority][group] += 1;
        self.lowest = self.lowest.max(Some(priority));
        self.seen.calls += u64::from(self.waits[priority][group]);
    }

    /// Compares calls after a take.
    fn compare(&mut self) {
        self.handed_out_at_once.clear();
        let Some(lowest) = self.lowest.take() else { return };
        if self.is_sorted {
            self.compare_priorities(lowest);
        }
        for priority in 0..PRIORITIES.len() {
            self.compare_groups(priority);
        }
    }

    fn compare_priorities(&mut self, lowest: usize) {
        let name = PRIORITIES[lowest];
        for (higher, groups) in PRIORITIES.iter().zip(self.waiting).take(lowest) {
            let waiting: i64 = groups.iter().sum();
            if waiting > 0 {
                self.seen
                    .violations
                    .push(format!("a job of {name} priority was called while {waiting} of {higher} wait"));
            }
        }
        self.seen.priorities = self.seen.priorities.max(lowest + 1);
    }

    /// A group is compared only as long as it has waiting jobs.
    fn compare_groups(&mut self, priority: usize) {
        for (waits, waiting) in self.waits[priority].iter_mut().zip(self.waiting[priority]) {
            *waits &= waiting > 0;
        }
        let there: Vec<usize> = (0..GROUPS).filter(|group| self.waits[priority][*group]).collect();
        self.seen.takes += u64::from(there.len() > 1);
        for one in &there {
            for other in (0..GROUPS).filter(|other| other != one) {
                self.compare_two(priority, *one, other);
            }
        }
    }

    /// How far a group is ahead of one that waits. Both sides are multiplied by both weights, so that nothing is
    /// rounded.
    fn compare_two(&mut self, priority: usize, waits: usize, other: usize) {
        let calls = [waits, other].map(|group| self.calls[priority][group]);
        let weights = [waits, other].map(|group| self.weights[group]);
        let apart = (calls[1] * weights[0]).saturating_sub(calls[0] * weights[1]);
        let most = self.bound * (weights[0] + weights[1]);
        if apart > most {
            let waited = if self.waits[priority][other] { "both" } else { "the first" };
            self.seen.violations.push(format!("g{waits} and g{other} got {calls:?} calls while {waited} waited"));
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
        seen_of([1; 3], order, at_once, weights)
    }

    fn seen_of(priorities: [usize; 3], order: &[usize], at_once: usize, weights: [u64; GROUPS]) -> TurnsSeen {
        let flow = |group: usize| Flow { priority: priorities[group], group };
        let flow_of = (0..3).flat_map(|group| (0..10).map(move |n| (job(group, n), flow(group)))).collect();
        let mut events: Vec<_> = (0..30).map(|n| TurnEvent::Added(flow(n % 3))).collect();
        let mut next = [0; 3];
        for take in order.chunks(at_once) {
            let jobs = take.iter().map(|group| {
                next[*group] += 1;
                job(*group, next[*group] - 1)
            });
            events.extend([TurnEvent::Script, TurnEvent::Claimed(jobs.collect())]);
        }
        events.push(TurnEvent::Script);
        check(&events, &weights, &flow_of)
    }

    #[test]
    fn the_check_finds_a_caller_with_more_than_its_turn() {
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
    fn a_job_that_two_commands_of_a_take_name_is_called_once() {
        let flow = |group: usize| Flow { priority: 1, group };
        let flow_of = (0..2).flat_map(|group| (0..10).map(move |n| (job(group, n), flow(group)))).collect();
        let mut events: Vec<_> = (0..20).map(|n| TurnEvent::Added(flow(n % 2))).collect();
        for n in 0..5 {
            let again = job(1, n);
            let claims = [vec![job(0, n), again], vec![again]].map(TurnEvent::Claimed);
            events.extend([TurnEvent::Script].into_iter().chain(claims));
        }
        events.push(TurnEvent::Script);
        let seen = check(&events, &[1; GROUPS], &flow_of);
        assert_eq!((seen.calls, seen.violations.len()), (10, 0), "{seen:?}");
    }

    #[test]
    fn a_group_of_which_nothing_waits_is_left_out() {
        let mut weights = [1; GROUPS];
        weights[2] = 5;
        let order = [[0, 1, 2, 2, 2, 2, 2]; 2].concat().into_iter().chain([0, 1].repeat(8));
        let seen = seen(&order.collect::<Vec<_>>(), 1, weights);
        assert_eq!(seen.violations, Vec::<String>::new());
    }

    #[test]
    fn the_check_finds_a_group_that_gains_by_coming_and_going() {
        let flow = |group: usize| Flow { priority: 1, group };
        let flow_of = (0..2).flat_map(|group| (0..10).map(move |n| (job(group, n), flow(group)))).collect();
        let events = |called: &[usize]| {
            let mut events = vec![TurnEvent::Added(flow(0)); 10];
            let mut next = [0; 2];
            for group in called {
                // The second group has one job at a time.
                events.extend((*group == 1).then_some(TurnEvent::Added(flow(1))));
                events.extend([TurnEvent::Script, TurnEvent::Claimed(vec![job(*group, next[*group])])]);
                next[*group] += 1;
            }
            events.push(TurnEvent::Script);
            events
        };
        assert_eq!(check(&events(&[0, 1].repeat(5)), &[1; GROUPS], &flow_of).violations, Vec::<String>::new());
        let gains = check(&events(&[0, 1, 1, 1, 1]), &[1; GROUPS], &flow_of);
        assert_eq!(gains.violations, ["g0 and g1 got [1, 4] calls while the first waited"]);
    }

    #[test]
    fn the_check_finds_a_job_called_before_one_of_a_higher_priority() {
        let priorities = [0, 1, 2];
        let strict = [vec![0; 10], vec![1; 10], vec![2; 3]].concat();
        let strict = seen_of(priorities, &strict, 4, [1; GROUPS]);
        assert_eq!((strict.priorities, strict.violations), (3, Vec::new()));
        let early = seen_of(priorities, &[vec![0; 9], vec![1]].concat(), 1, [1; GROUPS]);
        assert_eq!(early.violations, ["a job of normal priority was called while 1 of high wait"]);
    }
}
