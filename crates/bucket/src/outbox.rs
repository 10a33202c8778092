//! The outbox: jobs for other buckets that the ends of jobs here make. The script that ends a job writes them, in the
//! slot of this bucket (`outbox.lua`); they are handed over until the other bucket has accepted them.

mod blocked;
pub(crate) mod hand_over;
mod outcome_job;
mod page;
