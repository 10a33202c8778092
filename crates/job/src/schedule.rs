//! The ticks of a schedule, and which of them get a job. Times are in ms since the epoch, by the Redis clock.

pub mod id;
pub mod plan;
pub mod timetable;

pub use id::ScheduleId;
pub use plan::{Missed, Overlap, Policy, Step};
pub use timetable::{BadTimetable, Timetable};
