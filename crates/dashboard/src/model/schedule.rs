//! A schedule of a bucket.

use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Schedule {
    pub(crate) id: String,
    pub(crate) caller: Option<String>,
    pub(crate) caller_may_submit: bool,
    pub(crate) cron: Option<String>,
    pub(crate) zone: Option<String>,
    pub(crate) every: Option<String>,
    pub(crate) paused: bool,
    pub(crate) next_at: Option<String>,
    pub(crate) last_at: Option<String>,
    pub(crate) last_job: Option<String>,
    pub(crate) missed_ticks: u64,
    pub(crate) overlapped_ticks: u64,
    pub(crate) refused: Option<String>,
}
