//! The outbox: outcome jobs of this bucket for other buckets. The script that ends a job writes them, in the slot of
//! this bucket (`outbox.lua`); they stay until the target bucket has accepted them.

mod blocked;
pub(crate) mod hand_over;
mod outcome_job;
mod oversized;
pub(crate) mod page;
mod pass;
mod rare_line;
