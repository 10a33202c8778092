//! The promises of the design, with a module for each, tested with a real Redis. The tests about deaths and pauses use
//! real processes.

mod a_dead_replicas_jobs_are_back_within_the_lease;
mod a_definition_holds_everywhere_within_1_s;
mod a_flow_keeps_its_own_pace;
mod a_higher_priority_goes_first;
mod a_job_never_leaves_the_stream_before_it_is_settled;
mod a_key_holds_everywhere_within_1_s;
mod a_removed_bucket_loses_nothing;
mod accepted_means_kept;
mod an_outcome_job_is_made_once;
mod being_throttled_costs_no_attempt;
mod callers_take_turns;
mod ended_work_is_bounded;
mod memory_fits_the_formula;
mod one_job_per_idempotency_key;
mod one_tick_one_job;
mod only_the_owner_settles;
mod pace_before_take;
mod poison_cant_stop_the_bucket;
mod the_bound_is_exact;
mod the_pace_is_a_ceiling;

/// The seeds of random histories: `PROPTEST_CASES` of them, or `usual`. `SEED` repeats one.
fn seeds(usual: u64) -> impl Iterator<Item = u64> {
    let number = |name| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let (histories, seed) = (number("PROPTEST_CASES").unwrap_or(usual), number("SEED"));
    let seeds = (0..histories).map(move |_| seed.unwrap_or_else(|| fastrand::u64(..)));
    seeds.inspect(|seed| println!("seed {seed}"))
}
