//! Schedules: jobs that are submitted at their times.
//!
//! Each has its next tick in Redis. No process is chosen to look at them: every intake looks (`due_schedules`), and the
//! script that admits the job of a tick moves the schedule on to the tick after it, or does nothing where another call
//! has done so before (`submit_ticks`, `ticks.lua`). So a tick has one job, however many intakes there are, and the
//! clock of Redis alone says whether it has come.
//!
//! What a definition says, only the intake reads: to the bucket it is a text.

pub(crate) mod changes;
pub(crate) mod define_schedule;
pub(crate) mod due_schedules;
pub(crate) mod end_schedules;
pub(crate) mod known_schedule;
pub(crate) mod pass_ticks;
pub(crate) mod show_schedules;
pub(crate) mod submit_ticks;
pub(crate) mod switch_schedule;
