//! When a schedule has its ticks, and which of them get a job. Every time is in ms since the epoch, of the Redis clock.

pub mod id;
pub mod plan;
pub mod timetable;

pub use id::ScheduleId;
pub use plan::{Missed, Overlap, Policy, Step};
pub use timetable::{BadTimetable, Timetable};
