use std::time::Duration;

/// How long until a cost would pass, nothing else happening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// It passes now.
    Ready,
    /// At least 1 µs. Who waits that long and is alone passes.
    After(Duration),
    /// Waiting doesn't help: it is more than a tier ever lets through at once.
    Never,
}

impl Wait {
    pub(crate) fn us(us: u64) -> Self {
        if us == 0 { Self::Ready } else { Self::After(Duration::from_micros(us)) }
    }

    /// When so much of the time has passed.
    pub(crate) fn less(self, passed: Duration) -> Self {
        match self {
            Self::After(wait) => {
                wait.checked_sub(passed).filter(|rest| !rest.is_zero()).map_or(Self::Ready, Self::After)
            }
            other => other,
        }
    }
}
