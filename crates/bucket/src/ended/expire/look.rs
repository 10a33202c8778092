//! The progress of a search for deadlines through all jobs of a bucket, which takes several calls.

/// The position, and the result so far.
#[derive(Debug, Default)]
pub(crate) struct ExpiryScan {
    /// The cursor. Empty: the search begins.
    pub(crate) at: String,
    /// The earliest deadline of the jobs before the cursor, in ms. Empty: none of them has a deadline.
    pub(crate) earliest: String,
}
