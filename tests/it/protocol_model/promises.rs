//! What must hold in every state, and what must occur in some, so that the model can't become empty.

use stateright::Property;

use super::bucket::{Ending, JobId, Owner};
use super::processing::{Life, Stage};
use super::protocol::Protocol;
use super::submitting::{Caller, Knowledge};
use super::world::World;

pub const BOUND: &str = "1: the bound is exact";
pub const KEPT: &str = "2: accepted means kept";
pub const ENDS: &str = "2: every job ends when nothing is left to do";
pub const ONE_OUTCOME: &str = "2: never two outcomes";
pub const ONE_JOB: &str = "2: one job per submission";
pub const CALLED: &str = "2: what is recorded as delivered was delivered";
pub const NOTHING_BEHIND: &str = "2: a refused submission leaves nothing behind";
pub const IN_STREAM: &str = "3: a job is in the stream until its outcome is recorded";
pub const NOT_STRANDED: &str = "3: a job in the stream is new or pending";
pub const OWNER_SETTLES: &str = "6: only the owner settles";
pub const BACK: &str = "7: a dead replica's jobs are back";
pub const NOT_TAKEN: &str = "7: a living replica's job is never taken from it";
pub const NO_CALL_AFTER: &str = "no call after a recorded success";
pub const DUPLICATES: &str = "a job is called twice only where a death explains it";

type Promise = Property<Protocol>;

pub fn all() -> Vec<Promise> {
    let mut all = always();
    all.extend(sometimes());
    all
}

fn always() -> Vec<Promise> {
    vec![
        Promise::always(BOUND, |protocol, world| world.bucket.level() <= protocol.rules.capacity),
        Promise::always(KEPT, |_, world| {
            world
                .callers
                .iter()
                .filter(|caller| caller.knows == Knowledge::Accepted)
                .all(|caller| jobs_of(world, caller) > 0)
        }),
        // Not an `eventually`, which the checker gives up where paths join. `endings` shows that rest is always
        // reached.
        Promise::always(ENDS, |protocol, world| {
            world.bucket.jobs.iter().all(|job| !job.outcomes.is_empty()) || !protocol.is_at_rest(world)
        }),
        Promise::always(ONE_OUTCOME, |_, world| world.bucket.jobs.iter().all(|job| job.outcomes.len() <= 1)),
        Promise::always(ONE_JOB, |_, world| world.callers.iter().all(|caller| jobs_of(world, caller) <= 1)),
        Promise::always(CALLED, |_, world| {
            let mut jobs = world.bucket.jobs.iter().zip(&world.upstream);
            jobs.all(|(job, upstream)| upstream.done || !job.outcomes.contains(&Ending::Delivered))
        }),
        Promise::always(NOTHING_BEHIND, |_, world| {
            let refused = |caller: &Caller| matches!(caller.knows, Knowledge::Refused | Knowledge::NotStored);
            let left = |caller: &Caller| world.bucket.jobs.iter().any(|job| job.token == caller.last_request());
            !world.callers.iter().any(|caller| refused(caller) && left(caller))
        }),
        Promise::always(IN_STREAM, |_, world| {
            world.bucket.jobs.iter().all(|job| job.in_stream == job.outcomes.is_empty())
        }),
        Promise::always(NOT_STRANDED, |_, world| {
            world.bucket.jobs.iter().all(|job| job.in_stream == (job.pending.is_some() || !job.handed_out))
        }),
        Promise::always(OWNER_SETTLES, |_, world| !world.seen.fenced_replica_changed_something),
        Promise::always(BACK, |protocol, world| {
            let held = |owner: Owner| matches!(owner, Owner::Replica(consumer) if world.is_dead(consumer));
            !world.bucket.jobs.iter().any(|job| job.pending.is_some_and(held)) || !protocol.is_at_rest(world)
        }),
        Promise::always(NOT_TAKEN, |_, world| {
            members(world).all(|life| life.claims.iter().all(|claim| is_owned(world, life, claim.job)))
        }),
        Promise::always(NO_CALL_AFTER, |_, world| !world.seen.call_after_success),
        Promise::always(DUPLICATES, |_, world| !world.seen.unexplained_duplicate),
    ]
}

fn sometimes() -> Vec<Promise> {
    vec![
        Promise::sometimes("all callers' jobs are delivered", |_, world| {
            let delivered = world.bucket.jobs.iter().filter(|job| job.outcomes == [Ending::Delivered]).count();
            delivered == world.callers.len()
        }),
        Promise::sometimes("a caller is refused, where there isn't room for all", |protocol, world| {
            protocol.has_room_for_all() || world.callers.iter().any(|caller| caller.knows == Knowledge::Refused)
        }),
        Promise::sometimes("a caller learns its job by a second request", |_, world| {
            let second = |caller: &Caller| caller.requests > 1 && caller.knows == Knowledge::Accepted;
            world.callers.iter().any(second)
        }),
        Promise::sometimes("a replica holds a job that it doesn't know of", |_, world| {
            members(world).any(|life| life.doubt && world.bucket.held_by(life.consumer).len() > life.claims.len())
        }),
        Promise::sometimes("a fenced replica has something to settle", |_, world| {
            let lives = world.processors.iter().flat_map(|processor| &processor.lives);
            let judged = |life: &Life| life.claims.iter().any(|claim| matches!(claim.stage, Stage::Judged(_)));
            lives.filter(|life| !world.bucket.is_member(life.consumer)).any(judged)
        }),
        Promise::sometimes("a job is called by two replicas at once", |_, world| {
            let judging = |life: &&Life, job| {
                life.claims.iter().any(|claim| claim.job == job && matches!(claim.stage, Stage::Judged(_)))
            };
            let lives = || world.processors.iter().flat_map(|processor| &processor.lives);
            (0..).take(world.bucket.jobs.len()).any(|job| lives().filter(|life| judging(life, job)).count() > 1)
        }),
        Promise::sometimes("a job dies of its failures or its processors", |_, world| {
            world.bucket.jobs.iter().any(|job| job.outcomes == [Ending::Dead])
        }),
        Promise::sometimes("a call comes late", |_, world| !world.late.is_empty()),
    ]
}

fn jobs_of(world: &World, caller: &Caller) -> usize {
    world.bucket.jobs.iter().filter(|job| job.token.caller == caller.number).count()
}

fn members(world: &World) -> impl Iterator<Item = &Life> {
    let lives = world.processors.iter().flat_map(|processor| &processor.lives);
    lives.filter(|life| world.bucket.is_member(life.consumer))
}

fn is_owned(world: &World, life: &Life, job: JobId) -> bool {
    world.bucket.job(job).pending == Some(Owner::Replica(life.consumer))
}
