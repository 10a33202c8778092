//! Refusals of definitions as problems.

use super::members::{FieldError, LONGEST_NAME, LONGEST_TEXT, shortened};
use super::{Code, FaultPlace, Problem};
use crate::buckets::define::definitions::DefinitionError;

impl Problem {
    /// All that is wrong with a definition; `member` is the place of the first.
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

    pub(crate) fn configured_bucket() -> Self {
        let detail = "the bucket is in the configuration file, which takes precedence; change it there, or use another \
            name";
        Self::new(Code::ConfiguredBucket, detail)
    }
}
