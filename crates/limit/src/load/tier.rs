use std::time::Duration;

use dripfeed_job::duration;
use serde::Deserialize;

use crate::policy::calendar::{Calendar, Unit};
use crate::policy::scope::KeyPart;
use crate::policy::tier::{Align, Tier};

/// What is read as the `align` of a fixed window, as a regular expression.
pub const FIXED_ALIGN: &str = r"^(epoch|first|calendar\(.+\))$";

/// The members of all kinds. Which of them a kind has is checked in [`read`].
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    kind: String,
    /// `limit` and `period`, or both in one as `rate`: "10/s".
    limit: Option<u64>,
    period: Option<String>,
    rate: Option<String>,
    burst: Option<u64>,
    align: Option<String>,
    spread: Option<String>,
    min_gap: Option<String>,
    count_denied: Option<bool>,
    lease: Option<String>,
}

type Parsed<T> = Result<T, String>;

pub(super) fn read(raw: &Raw) -> Parsed<Tier> {
    match raw.kind.as_str() {
        "bucket" => {
            raw.only(&["burst"])?;
            let (limit, period) = raw.limit_per_period()?;
            text_error(Tier::bucket(limit, period, raw.burst.unwrap_or(limit)))
        }
        "gate" => {
            raw.only(&[])?;
            match raw.limit_per(Some(1))? {
                (1, period) => text_error(Tier::gate(time(&period)?)),
                (limit, _) => Err(format!("a gate's limit is 1, not {limit}: use the kind `bucket`")),
            }
        }
        "fixed" => fixed(raw),
        "sliding" => {
            raw.only(&[])?;
            let (limit, period) = raw.limit_per_period()?;
            text_error(Tier::sliding(limit, period))
        }
        "log" => {
            raw.only(&["min_gap", "count_denied"])?;
            let (limit, period) = raw.limit_per_period()?;
            let gap = raw.min_gap.as_deref().map(time).transpose()?.unwrap_or_default();
            text_error(Tier::log(limit, period, gap, raw.count_denied.unwrap_or(false)))
        }
        "concurrent" => {
            raw.only(&["lease"])?;
            if raw.period.is_some() || raw.rate.is_some() {
                return Err("leases have no period: say how long one lives as `lease`".to_owned());
            }
            let lease = raw.lease.as_deref().ok_or("a lease must end some time: say when, as `lease`")?;
            text_error(Tier::concurrent(raw.limit.ok_or(NO_LIMIT)?, time(lease)?))
        }
        "backlog" => {
            raw.only(&[])?;
            if raw.period.is_some() || raw.rate.is_some() {
                return Err("a backlog has no period".to_owned());
            }
            text_error(Tier::backlog(raw.limit.ok_or(NO_LIMIT)?))
        }
        other => Err(format!("`{other}` is no kind: use bucket, gate, fixed, sliding, log, concurrent or backlog")),
    }
}

const NO_LIMIT: &str = "there is no limit: give `limit` and `period`, or a `rate` such as 10/s";

fn fixed(raw: &Raw) -> Parsed<Tier> {
    raw.only(&["align", "spread"])?;
    let (limit, period) = raw.limit_per(None)?;
    let align = raw.align.as_deref().unwrap_or("epoch");
    let spread = raw.spread.as_deref().map(|part| text_error(part.parse::<KeyPart>())).transpose()?;
    if spread.is_some() && align != "epoch" {
        return Err("only windows with align `epoch` can be spread".to_owned());
    }
    let zone = align.strip_prefix("calendar(").and_then(|zone| zone.strip_suffix(')'));
    match (align, zone) {
        ("epoch", _) => text_error(Tier::fixed(limit, time(&period)?, Align::Epoch { spread })),
        ("first", _) => text_error(Tier::fixed(limit, time(&period)?, Align::First)),
        (_, Some(zone)) => {
            let unit = text_error(Unit::parse(&period))?;
            text_error(Tier::calendar(limit, text_error(Calendar::new(unit, zone.trim()))?))
        }
        _ => Err(format!("`{align}` is no alignment: use epoch, first, or calendar(<time zone>)")),
    }
}

impl Raw {
    /// Refuses what has no meaning for this kind, rather than not to heed it.
    fn only(&self, members: &[&str]) -> Parsed<()> {
        let given = [
            ("burst", self.burst.is_some()),
            ("align", self.align.is_some()),
            ("spread", self.spread.is_some()),
            ("min_gap", self.min_gap.is_some()),
            ("count_denied", self.count_denied.is_some()),
            ("lease", self.lease.is_some()),
        ];
        match given.iter().find(|(name, given)| *given && !members.contains(name)) {
            Some((name, _)) => Err(format!("`{name}` has no meaning for the kind `{}`", self.kind)),
            None => Ok(()),
        }
    }

    fn limit_per_period(&self) -> Parsed<(u64, Duration)> {
        let (limit, period) = self.limit_per(None)?;
        Ok((limit, time(&period)?))
    }

    /// The limit, and the period as text, with its unit.
    fn limit_per(&self, default_limit: Option<u64>) -> Parsed<(u64, String)> {
        match (self.limit, &self.period, &self.rate) {
            (None, None, Some(rate)) => {
                let bad = || format!("`{rate}` is no rate: write calls per time, such as 10/s, 200/500ms or 10000/day");
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

fn time(text: &str) -> Parsed<Duration> {
    text_error(duration::parse(text))
}

fn text_error<T, E: ToString>(result: Result<T, E>) -> Parsed<T> {
    result.map_err(|error| error.to_string())
}
