//! Random histories: each step is one that makes sense after those before it.

use dripfeed_bucket::JoinKind;
use dripfeed_job::JobState;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::Union;
use proptest_state_machine::ReferenceStateMachine;

use super::model::{Model, Setup};
use super::step::{End, Entry, JobNumber, Offer, ReplicaNumber, Step};

/// A take reads no more entries than this, so the bucket never has more.
const MOST_JOBS: u64 = 14;
const MOST_ADMITTED: u64 = 9;

pub struct Histories;

impl ReferenceStateMachine for Histories {
    type State = Model;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Model> {
        let share = option::of(1..=100u64);
        (2..=MOST_ADMITTED, 100..300u64, share, option::of(3..20u64), 1..4u32, 1..5usize)
            .prop_map(|(capacity, capacity_bytes, max_share, burst, deliveries, most_dead)| {
                Model::new(Setup { capacity, capacity_bytes, max_share, burst, deliveries, most_dead })
            })
            .boxed()
    }

    fn transitions(model: &Model) -> BoxedStrategy<Step> {
        let mut steps = vec![
            (24, vec(offer(), 1..5).prop_map(Step::Admit).boxed()),
            (2, prop_oneof![Just(JoinKind::First), Just(JoinKind::Rejoin)].prop_map(Step::Join).boxed()),
            (1, Just(Step::Purge).boxed()),
            (3, Just(Step::EndOverdue).boxed()),
            (1, cancel_many().boxed()),
            (2, prop_oneof![Just(Step::Pause), Just(Step::Resume)].boxed()),
            (2, option::of(1..=MOST_ADMITTED).prop_map(Step::SetCapacity).boxed()),
            (1, option::of(30..300u64).prop_map(Step::SetCapacityBytes).boxed()),
            (2, option::of(1..=100u64).prop_map(Step::SetMaxShare).boxed()),
            (1, option::of(1..4u64).prop_map(Step::SetMaxInFlight).boxed()),
            (2, option::of(1..60u64).prop_map(Step::SetBurst).boxed()),
            (4, Just(Step::AnHourPasses).boxed()),
        ];
        if model.paused {
            steps.push((8, Just(Step::Resume).boxed()));
        }
        if model.waiting().is_empty() {
            steps.push((4, ephemeral().prop_map(|offer| Step::Admit(vec![offer])).boxed()));
        }
        if model.level() < MOST_JOBS {
            let entries = vec![Entry::Body, Entry::RequestDetails, Entry::Unreadable];
            steps.push((2, select(entries).prop_map(Step::AddByHand).boxed()));
        }
        if model.joined == 0 {
            steps.push((20, Just(Step::Join(JoinKind::First)).boxed()));
        } else {
            steps.push((
                24,
                (replica(model), 1..5usize).prop_map(|(replica, most)| Step::Take { replica, most }).boxed(),
            ));
            steps.push((2, replica(model).prop_map(Step::Beat).boxed()));
            steps.push((1, replica(model).prop_map(Step::Leave).boxed()));
            steps.push((1, replica(model).prop_map(Step::Die).boxed()));
        }
        let holders = model.holders();
        if !holders.is_empty() {
            steps.push((4, select(holders.clone()).prop_map(Step::Leave).boxed()));
            steps.push((7, select(holders).prop_map(Step::Die).boxed()));
        }
        let busy: Vec<_> = model.claims.iter().filter(|(_, claims)| !claims.is_empty()).collect();
        if !busy.is_empty() {
            let settle = busy.into_iter().map(|(replica, claims)| settle(*replica, claims.keys().copied().collect()));
            steps.push((28, Union::new(settle).boxed()));
        }
        if let Some(known) = last_job(model) {
            steps.push((4, (0..=known).prop_map(Step::Cancel).boxed()));
            steps.push((1, (0..=known).prop_map(Step::Forget).boxed()));
        }
        if !model.letters.is_empty() {
            let letters: Vec<_> = model.letters.iter().map(|(number, _)| *number).collect();
            steps.push((6, select(letters).prop_map(Step::Replay).boxed()));
        }
        Union::new_weighted(steps).boxed()
    }

    fn apply(mut model: Model, step: &Step) -> Model {
        model.step(step);
        model
    }

    /// True for each generated step. Checked again when a failing history is shortened.
    fn preconditions(model: &Model, step: &Step) -> bool {
        match step {
            Step::Admit(offers) => !offers.iter().any(|offer| offer.ephemeral) || model.waiting().is_empty(),
            Step::AddByHand(_) => model.level() < MOST_JOBS,
            Step::Take { replica, .. } | Step::Beat(replica) | Step::Leave(replica) | Step::Die(replica) => {
                *replica < model.joined
            }
            Step::Settle { replica, ends } => {
                let claims = model.claims.get(replica);
                claims.is_some_and(|claims| ends.iter().all(|(job, _)| claims.contains_key(job)))
            }
            Step::Cancel(job) | Step::Forget(job) => last_job(model).is_some_and(|last| *job <= last),
            Step::Replay(job) => model.letters.iter().any(|(letter, _)| letter == job),
            _ => true,
        }
    }
}

fn last_job(model: &Model) -> Option<JobNumber> {
    model.numbered.checked_sub(1)
}

fn replica(model: &Model) -> impl Strategy<Value = ReplicaNumber> + use<> {
    // The latest replicas are most likely alive.
    let joined = model.joined;
    prop_oneof![3 => joined.saturating_sub(3)..joined, 1 => 0..joined]
}

fn offer() -> impl Strategy<Value = Offer> {
    let letter = select(vec!['a', 'b']);
    let (length, caller) = (select(vec![1, 10, 30, 80]), option::weighted(0.8, select(vec!['x', 'y'])));
    let (key, delayed) = (option::weighted(0.3, 0..3u8), prop::bool::weighted(0.15));
    (letter, length, caller, key, delayed).prop_map(|(letter, length, caller, key, delayed)| Offer {
        letter,
        length,
        caller,
        key,
        delayed,
        ephemeral: false,
    })
}

fn cancel_many() -> impl Strategy<Value = Step> {
    let states = vec![None, Some(JobState::Waiting), Some(JobState::Parked), Some(JobState::InFlight)];
    (select(states), option::of(select(vec!['x', 'y']))).prop_map(|(state, caller)| Step::CancelMany { state, caller })
}

fn ephemeral() -> impl Strategy<Value = Offer> {
    (offer(), prop::bool::weighted(0.2)).prop_map(|(offer, delayed)| Offer {
        delayed,
        ephemeral: true,
        key: None,
        ..offer
    })
}

fn settle(replica: ReplicaNumber, claims: Vec<JobNumber>) -> impl Strategy<Value = Step> {
    let some = 1..=claims.len();
    subsequence(claims, some)
        .prop_flat_map(|jobs| {
            let ends = vec(end(), jobs.len());
            (Just(jobs), ends)
        })
        .prop_map(move |(jobs, ends)| Step::Settle { replica, ends: jobs.into_iter().zip(ends).collect() })
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        8 => Just(End::Complete),
        4 => Just(End::RetryAtOnce),
        2 => Just(End::RetryInAnHour),
        1 => Just(End::ThrottledForNothing),
        1 => Just(End::ThrottledForAnHour),
        2 => Just(End::Requeue),
        4 => prop::bool::ANY.prop_map(|called| End::Bury { called }),
    ]
}
