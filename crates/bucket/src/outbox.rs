//! The outbox: outcome jobs of this bucket for other buckets. The script that ends a job writes its outcome jobs to a
//! stream in the slot of this bucket (`outbox.lua`). They stay there until their target buckets have accepted them.

mod blocked;
pub(crate) mod hand_over;
mod outcome_job;
mod oversized;
pub(crate) mod page;
mod pass;
mod rare_line;
