//! A tier in text form: the members of all kinds.

use std::time::Duration;

use dripfeed_job::duration;
use serde::Deserialize;

/// The members of all kinds. Each kind checks that it has no others.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Raw {
    /// Empty if missing.
    #[serde(default)]
    pub(super) kind: String,
    /// `limit` and `period`, or both in one as `rate`: "10/s".
    pub(super) limit: Option<u64>,
    pub(super) period: Option<String>,
    pub(super) rate: Option<String>,
    pub(super) burst: Option<u64>,
    pub(super) align: Option<String>,
    pub(super) spread: Option<String>,
    pub(super) min_gap: Option<String>,
    pub(super) count_denied: Option<bool>,
    pub(super) lease: Option<String>,
}

pub(super) type Parsed<T> = Result<T, String>;

pub(super) const NO_LIMIT: &str = "missing limit: give `limit` and `period`, or a `rate` such as 10/s";

impl Raw {
    /// A fault for each member that this kind doesn't have, so that none is ignored.
    pub(super) fn beyond(&self, members: &[&str]) -> Vec<String> {
        let members_present = [
            ("burst", self.burst.is_some()),
            ("align", self.align.is_some()),
            ("spread", self.spread.is_some()),
            ("min_gap", self.min_gap.is_some()),
            ("count_denied", self.count_denied.is_some()),
            ("lease", self.lease.is_some()),
        ];
        let beyond = members_present.iter().filter(|(name, is_present)| *is_present && !members.contains(name));
        beyond.map(|(name, _)| format!("`{name}` is not supported by the kind `{}`", self.kind)).collect()
    }

    pub(super) fn limit_per_period(&self) -> Parsed<(u64, Duration)> {
        let (limit, period) = self.limit_per(None)?;
        Ok((limit, time(&period)?))
    }

    /// The limit, and the period as text, with its unit.
    pub(super) fn limit_per(&self, default_limit: Option<u64>) -> Parsed<(u64, String)> {
        match (self.limit, &self.period, &self.rate) {
            (None, None, Some(rate)) => {
                let bad =
                    || format!("`{rate}` is not a rate: write calls per time, such as 10/s, 200/500ms or 10000/day");
                let (limit, period) = rate.split_once('/').ok_or_else(bad)?;
                let limit = limit.trim().parse().map_err(|_| bad())?;
                // `10/s` is `10/1s`.
                let one = if period.trim().starts_with(|c: char| c.is_ascii_alphabetic()) { "1" } else { "" };
                Ok((limit, format!("{one}{}", period.trim())))
            }
            (limit, Some(period), None) => Ok((limit.or(default_limit).ok_or(NO_LIMIT)?, period.clone())),
            (_, None, None) => Err(NO_LIMIT.to_owned()),
            _ => Err("a limit is given twice: use either `rate`, or `limit` and `period`".to_owned()),
        }
    }
}

pub(super) fn time(text: &str) -> Parsed<Duration> {
    let time: Duration = text_error(duration::parse(text))?;
    // Rounded, it would be another limit than configured.
    if !time.subsec_nanos().is_multiple_of(1_000) {
        return Err(format!("`{text}` is too fine: use whole microseconds"));
    }
    Ok(time)
}

pub(super) fn text_error<T, E: ToString>(result: Result<T, E>) -> Parsed<T> {
    result.map_err(|error| error.to_string())
}
