use dripfeed_job::Ending;

/// What became of a wish to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    Cancelled,
    /// A replica has it: too late, or too early.
    InFlight,
    /// It had ended before.
    Ended(Ending),
    Unknown,
}
