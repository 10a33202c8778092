//! The protocol model: two intakes, two processors, and everything that can go wrong between two scripts, in every
//! order.
//!
//! Processes crash at any point, replies are lost after the script ran, calls to Redis arrive after their senders have
//! given them up, living replicas are taken for dead, callers turn away and ask again. The checker walks through all of
//! it, breadth first, so that what it finds is a short way to it. The scripts themselves, the batches and the pace are
//! tested over a real Redis elsewhere; here it is their protocol.
//!
//! The first tests hold the promises; the others say by what each of them is kept, and plant the bug that lets go of
//! it.

mod bucket;
mod bug;
mod endings;
mod processing;
mod promises;
mod protocol;
mod submitting;
mod world;

use std::collections::BTreeSet;

use stateright::{Checker, HasDiscoveries, Model};

use self::bucket::Rules;
use self::bug::Bug;
use self::protocol::Protocol;

const ONE_JOB: Protocol = Protocol { callers: 1, faults: 3, rules: Rules { capacity: 1, bug: None } };
const FULL_BUCKET: Protocol = Protocol { callers: 2, faults: 2, rules: Rules { capacity: 1, bug: None } };
const TWO_JOBS: Protocol = Protocol { callers: 2, faults: 2, rules: Rules { capacity: 2, bug: None } };

/// All promises, in every state; and the states are as many as there were, or more.
fn holds(protocol: Protocol, floor: usize) {
    let checker = protocol.checker().finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let (states, depth) = (checker.unique_state_count(), checker.max_depth());
    println!("{states} states, histories of up to {depth} steps: {protocol:?}");
    checker.assert_properties();
    assert!(states >= floor, "{states} states are less than {floor}: what is left out of the model now?");
}

/// The planted bug shows in the promise that it breaks.
fn breaks(bug: Bug, promise: &'static str, within: Protocol) {
    let protocol = Protocol { rules: Rules { bug: Some(bug), ..within.rules }, ..within };
    let at_once = HasDiscoveries::AnyOf(BTreeSet::from([promise]));
    let found = protocol.checker().finish_when(at_once).spawn_bfs().join().discovery(promise);
    let Some(path) = found else { panic!("{bug:?} is not found by: {promise}") };
    println!("{bug:?} breaks: {promise}");
    for step in path.into_actions() {
        println!("    {step:?}");
    }
}

#[test]
fn all_promises_hold_for_one_job_that_meets_three_faults() {
    holds(ONE_JOB, 70_000);
}

#[test]
fn all_promises_hold_for_two_jobs_with_room_for_one() {
    holds(FULL_BUCKET, 60_000);
}

#[test]
fn all_promises_hold_for_two_jobs_side_by_side() {
    holds(TWO_JOBS, 330_000);
}

#[test]
fn every_history_ends() {
    for protocol in [Protocol { faults: 2, ..ONE_JOB }, Protocol { faults: 1, ..TWO_JOBS }] {
        assert_eq!(endings::endless_walk(&protocol), None);
    }
}

#[test]
fn the_bound_is_exact_because_room_is_judged_in_the_step_that_appends() {
    breaks(Bug::RoomBeforeAppend, promises::BOUND, FULL_BUCKET);
}

#[test]
fn accepted_means_kept_because_202_comes_after_the_write() {
    breaks(Bug::AcceptedBeforeWritten, promises::KEPT, ONE_JOB);
}

#[test]
fn a_submission_is_one_job_because_a_repeated_batch_asks_for_its_token() {
    breaks(Bug::NoToken, promises::ONE_JOB, TWO_JOBS);
}

#[test]
fn a_submission_is_one_job_because_the_first_call_asks_for_the_token_too() {
    breaks(Bug::TokenOnlyWhenRepeated, promises::ONE_JOB, TWO_JOBS);
}

#[test]
fn a_refused_submission_leaves_nothing_behind_because_its_answer_stays() {
    breaks(Bug::RefusalWithoutToken, promises::NOTHING_BEHIND, FULL_BUCKET);
}

#[test]
fn what_is_recorded_as_delivered_was_delivered_because_it_is_acknowledged_after_the_call() {
    breaks(Bug::AckBeforeSend, promises::CALLED, ONE_JOB);
}

#[test]
fn a_job_is_in_the_stream_new_or_pending_because_it_leaves_in_one_step() {
    breaks(Bug::AckAndDeleteApart, promises::NOT_STRANDED, ONE_JOB);
    breaks(Bug::AckAndDeleteApart, promises::IN_STREAM, ONE_JOB);
}

#[test]
fn only_the_owner_settles_because_settle_looks_at_its_membership() {
    breaks(Bug::OwnerCheckDropped, promises::OWNER_SETTLES, ONE_JOB);
}

#[test]
fn a_job_has_one_outcome_because_an_old_batch_that_comes_late_is_recognised() {
    breaks(Bug::OnlyTheLastBatch, promises::ONE_OUTCOME, TWO_JOBS);
    breaks(Bug::OnlyTheLastBatch, promises::NOT_TAKEN, TWO_JOBS);
}

#[test]
fn a_dead_replicas_jobs_are_back_because_others_take_them_over() {
    breaks(Bug::RecoveryOff, promises::BACK, ONE_JOB);
    breaks(Bug::RecoveryOff, promises::ENDS, ONE_JOB);
}

#[test]
fn a_living_replica_keeps_its_jobs_because_who_is_taken_for_dead_is_a_member_no_more() {
    breaks(Bug::DeadStaysMember, promises::NOT_TAKEN, ONE_JOB);
}

#[test]
fn a_living_replica_keeps_its_jobs_because_it_requeues_only_what_it_does_not_know() {
    breaks(Bug::ClaimsGivenBack, promises::NOT_TAKEN, TWO_JOBS);
}

#[test]
fn a_living_replica_keeps_its_jobs_because_a_late_question_for_orphaned_claims_is_recognised() {
    breaks(Bug::StraysUnnumbered, promises::NOT_TAKEN, ONE_JOB);
    breaks(Bug::StraysUnnumbered, promises::DUPLICATES, ONE_JOB);
}

#[test]
fn no_call_follows_a_recorded_success_because_old_permits_are_not_spent() {
    breaks(Bug::OldPermitsSpent, promises::NO_CALL_AFTER, ONE_JOB);
}

#[test]
fn every_job_ends_because_orphaned_claims_are_requeued() {
    breaks(Bug::StraysKept, promises::ENDS, ONE_JOB);
}

#[test]
fn every_job_ends_because_no_orphaned_claim_passes_for_a_job_that_is_being_settled() {
    breaks(Bug::SettlingIsKnown, promises::ENDS, ONE_JOB);
}

#[test]
fn every_job_ends_because_a_take_that_comes_late_takes_nothing() {
    breaks(Bug::LateTakeServed, promises::ENDS, ONE_JOB);
}
