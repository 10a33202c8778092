//! Refusals of definitions as problems.

use std::time::Duration;

use super::members::{FieldError, LONGEST_NAME, LONGEST_TEXT, shortened};
use super::{Code, FaultPlace, Problem};
use crate::buckets::define::definitions::DefinitionError;

/// `Retry-After` while an operator has to change a file.
const WHILE_SEALED: Duration = Duration::from_secs(30);

impl Problem {
    /// All errors of a definition; `member` is the place of the first.
    pub(crate) fn definition(errors: Vec<DefinitionError>) -> Self {
        let faults = errors.into_iter().map(|error| FieldError {
            place: shortened(error.place, LONGEST_NAME),
            reason: shortened(error.message, LONGEST_TEXT),
        });
        let faults: Vec<FieldError> = faults.collect();
        let line = |fault: &FieldError| format!("{}: {}", fault.place, fault.reason);
        let detail = faults.iter().map(line).collect::<Vec<_>>().join("; ");
        let member = faults.first().map(|fault| fault.place.clone()).filter(|place| !place.is_empty());
        let mut problem = Self::new(Code::BadMember, detail).at(FaultPlace { member, ..FaultPlace::default() });
        problem.more.faults = faults;
        problem
    }

    /// A bucket with credentials that this intake can't decrypt; another intake may have the key.
    pub(crate) fn sealed_bucket() -> Self {
        let detail = "the credentials of this bucket (headers, signing_secret) can't be decrypted with \
            define.seal_key_file of this intake; nothing was stored or changed; set the file with their key, or PUT \
            the bucket with its credentials again";
        Self::new(Code::SealedBucket, detail).retry_after(Some(WHILE_SEALED))
    }

    pub(crate) fn configured_bucket() -> Self {
        let detail = "the bucket is in the configuration file, which takes precedence; change it there, or use another \
            name";
        Self::new(Code::ConfiguredBucket, detail)
    }
}
