//! Reads the state of a bucket, and checks and repairs it in Redis (`doctor`).

pub(crate) mod census;
pub(crate) mod count_each;
pub(crate) mod doctor;
pub(crate) mod find;
pub(crate) mod flows;
pub(crate) mod holders;
pub(crate) mod job_filter;
pub(crate) mod job_payload;
pub(crate) mod list_jobs;
pub(crate) mod other_kind;
pub(crate) mod pagination;
pub(crate) mod served;
pub(crate) mod slots;
mod throttled_jobs;
