//! Errors of rules and rate-limit checks as problems.

use std::time::Duration;

use dripfeed_bucket::BucketError;
use dripfeed_limit::{BadRules, LimitError, LoadError, RegistryError};
use dripfeed_store::{Certainty, ErrorKind, StoreError};

use super::bucket::log;
use super::members::{FieldError, LONGEST_NAME, LONGEST_TEXT, shortened};
use super::{Code, FaultPlace, Problem};

impl Problem {
    /// All faults of a body, each with its place; `member` is the place of the first.
    pub(crate) fn faults(code: Code, error: &LoadError) -> Self {
        let fault = |fault: &dripfeed_limit::LoadFault| FieldError {
            place: shortened(fault.place.clone(), LONGEST_NAME),
            reason: shortened(fault.message.clone(), LONGEST_TEXT),
        };
        let faults: Vec<FieldError> = error.faults().iter().map(fault).collect();
        let member = faults.first().map(|fault| fault.place.clone()).filter(|place| !place.is_empty());
        let mut problem = Self::new(code, error.to_string()).at(FaultPlace { member, ..FaultPlace::default() });
        problem.more.faults = faults;
        problem
    }

    fn unchecked(code: Code, detail: &'static str, certainty: Certainty) -> Self {
        let mut problem = Self::new(code, detail).retry_after(Some(Duration::from_secs(1)));
        problem.more.outcome = Some(match certainty {
            Certainty::NotStored => "not_stored",
            Certainty::Unknown => "unknown",
        });
        problem
    }
}

impl From<BadRules> for Problem {
    fn from(error: BadRules) -> Self {
        match &error {
            BadRules::Faults(faults) => Self::faults(Code::BadMember, faults),
            BadRules::TooLarge(_) => Self::new(Code::BodyTooLarge, error.to_string()),
        }
    }
}

impl From<RegistryError> for Problem {
    fn from(error: RegistryError) -> Self {
        match error {
            RegistryError::Unread => {
                let detail = "the rules are not loaded from Redis yet; retry later";
                Self::unchecked(Code::StoreUnavailable, detail, Certainty::NotStored)
            }
            RegistryError::Closed => Self::draining(),
            RegistryError::ManyServices(_) | RegistryError::ManyBytes(_) => {
                Self::new(Code::ManyServices, format!("{error}: delete some first"))
            }
            RegistryError::Contended => Self::new(Code::StoreUnavailable, format!("{error}; retry later")),
            RegistryError::Store(error) => BucketError::Store(error.into()).into(),
            RegistryError::Limit(LimitError::Unavailable { ref source, .. }) => {
                // Without a source, the reply was lost, and the charge may have been made.
                let certainty = source.as_ref().map_or(Certainty::Unknown, StoreError::certainty);
                let kind = source.as_ref().map_or(ErrorKind::Timeout, StoreError::kind);
                log(&error, Some(kind));
                let (code, detail) = match kind {
                    ErrorKind::Full => (Code::StoreFull, "the limit can't be checked while Redis is out of memory"),
                    _ => (Code::StoreUnavailable, "the limit can't be checked while Redis is unavailable; retry later"),
                };
                Self::unchecked(code, detail, certainty)
            }
            RegistryError::Limit(error) => {
                log(&error, None);
                Self::internal()
            }
        }
    }
}
