//! The experiments, a file each, named for what it is about. Where the published approach is small, it stands below its
//! experiment as `published`, in our own words, faults included.

pub(crate) mod counter_with_resetter;
pub(crate) mod gates_and_windows;
pub(crate) mod redis_time;
pub(crate) mod rolling_log;
pub(crate) mod service_levels;
pub(crate) mod sliding_counter;
