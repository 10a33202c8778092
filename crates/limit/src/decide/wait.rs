use std::time::Duration;

/// How long until a request would be allowed if no other request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wait {
    /// It is allowed now.
    Ready,
    /// At least 1 µs.
    After(Duration),
    /// Waiting doesn't help, because the cost is more than a tier ever allows at once.
    Never,
}

impl Wait {
    pub(crate) fn us(us: u64) -> Self {
        if us == 0 { Self::Ready } else { Self::After(Duration::from_micros(us)) }
    }

    /// The rest of the wait after `passed`.
    pub(crate) fn less(self, passed: Duration) -> Self {
        match self {
            Self::After(wait) => {
                wait.checked_sub(passed).filter(|rest| !rest.is_zero()).map_or(Self::Ready, Self::After)
            }
            other => other,
        }
    }
}
