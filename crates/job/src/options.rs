//! The options of a submission: the same for headers and for batch items.

use std::fmt;
use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use thiserror::Error;

use crate::chain::OutcomeTargets;
use crate::group::Group;
use crate::idempotency::IdempotencyKey;
use crate::path::UpstreamPath;
use crate::priority::Priority;
use crate::submission::{StartTime, Submission};
use crate::units::{duration, time};

/// The maximum of a delay and of a deadline. A longer one is most likely a mistake.
const MAX_DELAY: Duration = Duration::from_hours(30 * 24);
const MAX_TIMEOUT: Duration = Duration::from_hours(1);
const MAX_RETRIES: u32 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionName {
    IdempotencyKey,
    Delay,
    NotBefore,
    ExpiresIn,
    Method,
    Path,
    Priority,
    Group,
    OnOutcome,
    Retries,
    Timeout,
}

impl OptionName {
    pub const ALL: [Self; 11] = [
        Self::IdempotencyKey,
        Self::Delay,
        Self::NotBefore,
        Self::ExpiresIn,
        Self::Method,
        Self::Path,
        Self::Priority,
        Self::Group,
        Self::OnOutcome,
        Self::Retries,
        Self::Timeout,
    ];

    /// Returns the name of its header, in lower case.
    #[must_use]
    pub const fn header(self) -> &'static str {
        match self {
            Self::IdempotencyKey => "idempotency-key",
            Self::Delay => "dripfeed-delay",
            Self::NotBefore => "dripfeed-not-before",
            Self::ExpiresIn => "dripfeed-expires-in",
            Self::Method => "dripfeed-method",
            Self::Path => "dripfeed-path",
            Self::Priority => "dripfeed-priority",
            Self::Group => "dripfeed-group",
            Self::OnOutcome => "dripfeed-on-outcome",
            Self::Retries => "dripfeed-retries",
            Self::Timeout => "dripfeed-timeout",
        }
    }

    /// Returns the name of its member in `options` of a batch item.
    #[must_use]
    pub const fn member(self) -> &'static str {
        match self {
            Self::IdempotencyKey => "idempotency_key",
            Self::Delay => "delay",
            Self::NotBefore => "not_before",
            Self::ExpiresIn => "expires_in",
            Self::Method => "method",
            Self::Path => "path",
            Self::Priority => "priority",
            Self::Group => "group",
            Self::OnOutcome => "on_outcome",
            Self::Retries => "retries",
            Self::Timeout => "timeout",
        }
    }

    /// Finds an option by its header, in lower case.
    #[must_use]
    pub fn of_header(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|option| option.header() == name)
    }

    /// Finds an option by its member in `options` of a batch item.
    #[must_use]
    pub fn of_member(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|option| option.member() == name)
    }

    /// Parses `text` and sets the option. `now` is used only to limit `not_before`.
    ///
    /// # Errors
    /// The reason, in a sentence that makes sense after the option's name.
    pub fn apply(self, text: &str, submission: &mut Submission, now: Timestamp) -> Result<(), OptionError> {
        match self {
            Self::IdempotencyKey => {
                submission.idempotency_key = Some(IdempotencyKey::parse(text).map_err(OptionError::of)?);
            }
            Self::Delay => set_start(submission, StartTime::After(bounded(text, Duration::ZERO, MAX_DELAY)?))?,
            Self::NotBefore => set_start(submission, StartTime::At(not_before(text, now)?))?,
            Self::ExpiresIn => submission.expires_in = Some(bounded(text, Duration::from_millis(1), MAX_DELAY)?),
            Self::Method => submission.method = Some(method(text)?),
            Self::Path => submission.path = Some(UpstreamPath::parse(text).map_err(OptionError::of)?),
            Self::Priority => submission.priority = Some(text.parse::<Priority>().map_err(OptionError::of)?),
            Self::Group => submission.group = Some(text.parse::<Group>().map_err(OptionError::of)?),
            Self::OnOutcome => {
                submission.chain.targets = Some(text.parse::<OutcomeTargets>().map_err(OptionError::of)?);
            }
            Self::Retries => submission.retries = Some(retries(text)?),
            Self::Timeout => submission.timeout = Some(bounded(text, Duration::from_millis(1), MAX_TIMEOUT)?),
        }
        Ok(())
    }
}

/// Why the value of an option is invalid.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct OptionError(String);

impl OptionError {
    fn of(error: impl fmt::Display) -> Self {
        Self(error.to_string())
    }
}

fn bounded(text: &str, least: Duration, most: Duration) -> Result<Duration, OptionError> {
    let duration = duration::parse(text).map_err(OptionError::of)?;
    if (least..=most).contains(&duration) {
        return Ok(duration);
    }
    Err(OptionError(format!("`{text}` is out of range: use {} to {}", duration::show(least), duration::show(most))))
}

/// Sets the start, at most once: of two starts one would be ignored.
fn set_start(submission: &mut Submission, start: StartTime) -> Result<(), OptionError> {
    if submission.start != StartTime::AtOnce {
        return Err(OptionError("give either a delay or a time, not both".to_owned()));
    }
    submission.start = start;
    Ok(())
}

fn not_before(text: &str, now: Timestamp) -> Result<u64, OptionError> {
    let at = time::parse(text).map_err(OptionError::of)?;
    if at.duration_since(now).unsigned_abs() > MAX_DELAY && at > now {
        return Err(OptionError(format!("`{text}` is too far ahead: use at most {}", duration::show(MAX_DELAY))));
    }
    // All times in the past mean the same.
    Ok(u64::try_from(at.as_millisecond()).unwrap_or(0))
}

fn method(text: &str) -> Result<Method, OptionError> {
    let supported =
        [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];
    supported.into_iter().find(|method| method.as_str() == text).ok_or_else(|| {
        OptionError(format!("`{text}` is not a supported method: use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"))
    })
}

fn retries(text: &str) -> Result<u32, OptionError> {
    Some(text)
        .filter(|text| text.bytes().all(|c| c.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .filter(|retries| *retries <= MAX_RETRIES)
        .ok_or_else(|| OptionError(format!("`{text}` is not a whole number from 0 to {MAX_RETRIES}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn apply(option: OptionName, text: &str) -> Result<Submission, String> {
        let mut submission = Submission::default();
        option.apply(text, &mut submission, NOW).map(|()| submission).map_err(|reason| reason.to_string())
    }

    #[test]
    fn options_land_in_the_submission() {
        assert_eq!(apply(OptionName::Delay, "10s").map(|s| s.start), Ok(StartTime::After(Duration::from_secs(10))));
        assert_eq!(
            apply(OptionName::NotBefore, "1970-01-02T00:00:00Z").map(|s| s.start),
            Ok(StartTime::At(86_400_000))
        );
        assert_eq!(apply(OptionName::ExpiresIn, "1m").map(|s| s.expires_in), Ok(Some(Duration::from_mins(1))));
        assert_eq!(apply(OptionName::Method, "PUT").map(|s| s.method), Ok(Some(Method::PUT)));
        assert_eq!(apply(OptionName::Priority, "high").map(|s| s.priority), Ok(Some(Priority::High)));
        assert_eq!(apply(OptionName::Group, "eu").map(|s| s.group), Ok("eu".parse().ok()));
        let chosen = apply(OptionName::OnOutcome, "events").map(|s| s.chain.targets);
        assert_eq!(chosen, Ok("events".parse().ok()));
        assert_eq!(apply(OptionName::Retries, "0").map(|s| s.retries), Ok(Some(0)));
        assert_eq!(apply(OptionName::Timeout, "1500ms").map(|s| s.timeout), Ok(Some(Duration::from_millis(1500))));
        assert_eq!(apply(OptionName::Path, "a").map(|s| s.path.map(|p| p.to_string())), Ok(Some("/a".to_owned())));
    }

    #[test]
    fn a_delay_and_a_deadline_are_at_most_30_days_ahead() {
        for (option, last, beyond) in [
            (OptionName::Delay, "30d", "721h"),
            (OptionName::ExpiresIn, "30d", "721h"),
            (OptionName::NotBefore, "1970-01-31T00:00:00Z", "1970-01-31T00:00:01Z"),
        ] {
            assert!(apply(option, last).is_ok(), "{option:?} {last}");
            assert!(apply(option, beyond).is_err_and(|reason| reason.contains("720h")), "{option:?} {beyond}");
        }
    }

    #[test]
    fn a_value_out_of_range_is_refused_with_the_range() {
        for (option, text) in [
            (OptionName::Delay, "-1s"),
            (OptionName::Delay, "87600h"),
            (OptionName::Delay, "NaN"),
            (OptionName::NotBefore, "tomorrow"),
            (OptionName::NotBefore, "1980-01-01T00:00:00Z"),
            (OptionName::ExpiresIn, "0s"),
            (OptionName::ExpiresIn, "-5s"),
            (OptionName::Method, "CONNECT"),
            (OptionName::Method, "post"),
            (OptionName::Priority, "urgent"),
            (OptionName::Priority, "1"),
            (OptionName::Group, ""),
            (OptionName::Group, "a b"),
            (OptionName::OnOutcome, "https://example.com/"),
            (OptionName::Retries, "-1"),
            (OptionName::Retries, "+3"),
            (OptionName::NotBefore, "1970-01-02T00:00:00+25:00"),
            (OptionName::Retries, "1000000000"),
            (OptionName::Timeout, "0s"),
            (OptionName::Timeout, "2h"),
            (OptionName::Path, "/../x"),
            (OptionName::IdempotencyKey, ""),
        ] {
            assert!(apply(option, text).is_err(), "{option:?} {text:?}");
        }
    }
}
