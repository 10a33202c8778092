//! Schedules submit jobs at set times.
//!
//! The next tick of each schedule is stored in Redis. There is no leader: every intake looks for due ticks
//! (`due_schedules`), and the script that enqueues the job of a tick advances the schedule to the next tick, or does
//! nothing if another call has done so (`submit_ticks`, `ticks.lua`). So a tick gets one job, whatever the number of
//! intakes, and only the Redis clock decides whether it is due.
//!
//! Only the intake parses definitions; to this crate they are strings.

pub(crate) mod changes;
pub(crate) mod define_schedule;
pub(crate) mod due_schedules;
pub(crate) mod end_schedules;
pub(crate) mod known_schedule;
pub(crate) mod pass_ticks;
pub(crate) mod show_schedules;
pub(crate) mod submit_ticks;
pub(crate) mod switch_schedule;
