use dripfeed_job::{JobId, Outcome, State};

/// A job as callers may see it: everything but its body and headers.
#[derive(Clone, Debug)]
pub struct JobView {
    pub id: JobId,
    pub state: State,
    /// Attempts begun.
    pub attempts: u32,
    /// While parked or delayed: when it is due.
    pub due_ms: Option<u64>,
    pub caller: Option<String>,
    /// The replica that has it, while in flight.
    pub consumer: Option<String>,
    /// And when it was settled.
    pub outcome: Option<(Outcome, u64)>,
}
