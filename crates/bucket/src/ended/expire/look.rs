//! A look through all jobs of a bucket for deadlines, in parts.

/// How far it has come.
#[derive(Debug, Default)]
pub(crate) struct ExpiryLook {
    /// Empty: it begins.
    pub(crate) at: String,
    /// The earliest deadline of the jobs before, in ms. Empty: none has one.
    pub(crate) earliest: String,
}
