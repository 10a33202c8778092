/// The outcome of a schedule's tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TickOutcome {
    Submitted,
    Missed,
    Overlapped,
}

impl TickOutcome {
    pub(super) const ALL: [Self; 3] = [Self::Submitted, Self::Missed, Self::Overlapped];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Missed => "missed",
            Self::Overlapped => "overlapped",
        }
    }
}
