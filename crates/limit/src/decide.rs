//! One decision: what is asked of the rules, in one script call, and what they answer.

pub(crate) mod clock;
pub(crate) mod combined;
pub(crate) mod counts;
pub(crate) mod decision;
pub(crate) mod plan;
pub(crate) mod redis_decide;
mod report;
pub(crate) mod verdict;
pub(crate) mod wait;
