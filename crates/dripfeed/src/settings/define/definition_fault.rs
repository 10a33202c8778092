use std::fmt;

/// An error of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DefinitionFault {
    /// A key of the definition, such as `leak.rate`; empty for the definition as a whole.
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

/// Why a stored definition isn't served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UnreadDefinition {
    /// All errors of the definition.
    Invalid(Vec<DefinitionFault>),
    /// Its credentials can't be decrypted. `has_key`: whether `define.seal_key_file` is set.
    Sealed { has_key: bool },
}

impl fmt::Display for UnreadDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self {
            Self::Invalid(faults) => {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                return f.write_str(&faults.join("; "));
            }
            Self::Sealed { has_key: true } => {
                "they were encrypted with a key that isn't in define.seal_key_file, or for another bucket or upstream"
            }
            Self::Sealed { has_key: false } => "define.seal_key_file isn't set",
        };
        write!(
            f,
            "its credentials (headers, signing_secret) can't be decrypted: {why}; set define.seal_key_file to the file \
                with their key in all roles, or PUT the bucket with its credentials again"
        )
    }
}
