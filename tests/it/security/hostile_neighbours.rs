//! Everything that one caller can do to hurt others, on real processes and a real Redis: that it costs no more work and
//! bytes than is due, and that others are answered meanwhile. No time is asserted here, but in the long run:
//! NEIGHBOURS, as `make neighbours` sets it, also measures how long others wait beside the attacks that have its value
//! in their names.

/// Each attack, and whether others wait longer beside it.
mod attacks;
/// What something cost the intake and Redis.
mod cost;
/// Where a hostile caller and the upstream are.
mod machine;
/// What others ask for, and get.
mod neighbours;
/// The installation.
mod street;

mod a_batch_may_be_as_large_as_a_body;
mod connections_hold_up_nobody;
mod dead_letters_leave_room_for_others;
mod deep_json_is_refused_for_little;
mod idempotency_keys_are_bounded;
mod lookups_of_a_large_job_are_bounded;
mod many_forwarded_headers_cost_no_more_than_their_bytes;
mod many_options_cost_no_more_than_their_bytes;
mod pages_over_large_jobs_are_bounded;
mod rules_registered_again_and_again_grow_nothing;
mod scopes_of_a_limit_are_bounded;
mod scrapes_ask_redis_no_more;
mod waits_of_one_caller_hold_up_nobody;
