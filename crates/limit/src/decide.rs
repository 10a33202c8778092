//! A rate-limit decision: the input of the rules, one script call, and its result.

pub(crate) mod clock;
pub(crate) mod combined;
pub(crate) mod counts;
pub(crate) mod decision;
pub(crate) mod key_index;
pub(crate) mod minutes;
pub(crate) mod plan;
pub(crate) mod redis_decide;
mod report;
pub(crate) mod tally;
pub(crate) mod verdict;
pub(crate) mod wait;
