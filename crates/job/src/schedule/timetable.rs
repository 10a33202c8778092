//! The ticks of a schedule: a cron expression in a time zone, or a period.

mod cron_times;

use std::collections::VecDeque;
use std::sync::LazyLock;
use std::time::Duration;

use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;
use thiserror::Error;

use self::cron_times::CronTimes;
use crate::units::duration::{self, ms_up};

/// The time zones compiled into the program, so that all intakes compute the same ticks on any machine.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

const MAX_EXPRESSION_BYTES: usize = 256;
const MIN_PERIOD: Duration = Duration::from_secs(1);
const MAX_PERIOD: Duration = Duration::from_hours(366 * 24);

/// The maximum of due ticks of a cron expression that are counted. If more were missed, the count is too low.
const MAX_COUNTED: u64 = 10_000;
const DAY_MS: u64 = 86_400_000;

#[derive(Clone, Debug)]
pub enum Timetable {
    Cron(Box<CronTimes>),
    /// At each multiple of this number of ms since the epoch, so that a repeated definition doesn't move the ticks.
    Every(u64),
}

/// What is wrong with a timetable.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{member}: {reason}")]
pub struct BadTimetable {
    /// `cron`, `zone` or `every`.
    pub member: &'static str,
    pub reason: String,
}

/// Ticks that are due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueTicks {
    pub count: u64,
    /// The latest of them, in order; at least one.
    pub latest: VecDeque<u64>,
}

impl Timetable {
    /// Parses a cron expression of five fields: minute, hour, day of the month, month, day of the week. `zone`: an IANA
    /// name.
    ///
    /// # Errors
    /// For an expression that can't be read, one that has no tick, and an unknown zone.
    pub fn cron(expression: &str, zone: &str) -> Result<Self, BadTimetable> {
        let bad = |reason: String| BadTimetable { member: "cron", reason };
        if expression.len() > MAX_EXPRESSION_BYTES {
            return Err(bad(format!("use at most {MAX_EXPRESSION_BYTES} bytes")));
        }
        let fields = expression.split_whitespace().count();
        if fields != 5 {
            return Err(bad(format!(
                "must have 5 fields, not {fields}: minute, hour, day of the month, month, day of the week"
            )));
        }
        let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
        let fields = "minutes 0-59, hours 0-23, days 1-31, months 1-12, days of the week 0-7 or SUN-SAT";
        // Replaces the parser's message, which doesn't name the field.
        let unreadable = |_| bad(format!("not a cron expression: {fields}; with *, lists, ranges and steps"));
        let cron = parser.parse(expression).map_err(unreadable)?;
        let unknown = |_| BadTimetable {
            member: "zone",
            reason: "unknown time zone: use a name such as Europe/Berlin or UTC".to_owned(),
        };
        let zone = ZONES.get(zone).map_err(unknown)?;
        let timetable = Self::Cron(Box::new(CronTimes::new(expression, cron, zone)));
        if timetable.next_after(0).is_none() {
            return Err(bad("this date doesn't exist, so the schedule has no ticks".to_owned()));
        }
        Ok(timetable)
    }

    /// Creates a timetable with a tick in each `period`, counted from the epoch.
    ///
    /// # Errors
    /// For less than a second, or more than a leap year.
    pub fn every(period: Duration) -> Result<Self, BadTimetable> {
        if (MIN_PERIOD..=MAX_PERIOD).contains(&period) {
            return Ok(Self::Every(ms_up(period)));
        }
        let reason = format!("is out of range: use {} to {}", duration::show(MIN_PERIOD), duration::show(MAX_PERIOD));
        Err(BadTimetable { member: "every", reason })
    }

    /// Returns the first tick after `ms`, or `None` if there are no more.
    #[must_use]
    pub fn next_after(&self, ms: u64) -> Option<u64> {
        match self {
            Self::Every(period) => (ms / period + 1).checked_mul(*period),
            Self::Cron(times) => {
                let next = times.next_after(Timestamp::from_millisecond(i64::try_from(ms).ok()?).ok()?)?;
                u64::try_from(next.as_millisecond()).ok().filter(|next| *next > ms)
            }
        }
    }

    /// Returns the ticks from `first`, which is a tick, up to `now`: their number, and the latest `keep` of them.
    #[must_use]
    pub fn due(&self, first: u64, now: u64, keep: usize) -> DueTicks {
        let mut due = DueTicks { count: 0, latest: VecDeque::new() };
        let mut tick = Some(self.skip_periods(first, now, keep, &mut due));
        while let Some(ms) = tick.filter(|ms| *ms <= now || due.latest.is_empty()) {
            due.count += 1;
            due.latest.push_back(ms);
            if due.latest.len() > keep.max(1) {
                due.latest.pop_front();
            }
            let is_far_behind = due.count == MAX_COUNTED && matches!(self, Self::Cron(_));
            tick = self.next_after(if is_far_behind { self.shortly_before(now).max(ms) } else { ms });
        }
        due
    }

    /// Counts all ticks of a period but the latest `keep` at once. Returns the first tick that is left to count.
    fn skip_periods(&self, first: u64, now: u64, keep: usize, due: &mut DueTicks) -> u64 {
        let Self::Every(period) = self else { return first };
        let keep = u64::try_from(keep.max(1)).unwrap_or(u64::MAX);
        let last = now / period * period;
        let begin = last.saturating_sub(period.saturating_mul(keep - 1));
        if begin <= first {
            return first;
        }
        // `first`, and the multiples after it and before `begin`.
        due.count = (begin - 1) / period - first / period + 1;
        begin
    }

    /// A time before the latest tick up to `now`, found by doubling the distance from `now`.
    fn shortly_before(&self, now: u64) -> u64 {
        let spans = (0..20).map(|doubled| now.saturating_sub(DAY_MS << doubled));
        spans.into_iter().find(|begin| self.next_after(*begin).is_some_and(|next| next <= now)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
