//! The pages, one file each, which reads the data from the API and renders it.

pub(crate) mod audit;
pub(crate) mod bucket;
pub(crate) mod buckets;
pub(crate) mod cancel_many;
pub(crate) mod dead;
pub(crate) mod dead_groups;
pub(crate) mod dead_query;
pub(crate) mod done;
pub(crate) mod edit;
pub(crate) mod export;
pub(crate) mod job;
pub(crate) mod jobs;
pub(crate) mod letter;
pub(crate) mod playground;
pub(crate) mod redis;
pub(crate) mod replays;
pub(crate) mod services;
pub(crate) mod sign_in;
