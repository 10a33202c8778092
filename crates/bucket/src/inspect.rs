//! Looks at a bucket without changing it; the doctor repairs what it finds.

pub(crate) mod census;
pub(crate) mod doctor;
pub(crate) mod find;
pub(crate) mod flows;
pub(crate) mod holders;
pub(crate) mod list_jobs;
pub(crate) mod pagination;
pub(crate) mod served;
pub(crate) mod slots;
mod throttled_jobs;
