use std::fmt;

/// What is wrong with a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DefinitionFault {
    /// A key of the definition, such as `leak.rate`; empty: the whole.
    pub(crate) place: String,
    pub(crate) message: String,
}

pub(super) fn fault(place: impl Into<String>, message: impl Into<String>) -> DefinitionFault {
    DefinitionFault { place: place.into(), message: message.into() }
}

impl fmt::Display for DefinitionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => write!(f, "the definition {}", self.message),
            place => write!(f, "{place}: {}", self.message),
        }
    }
}
