//! Windows that begin with the day, week, month or year of a time zone. Their length varies, also by daylight saving
//! time, so the boundaries are computed here and passed to the script, which selects by the Redis clock.

use std::time::Duration;

use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};
use thiserror::Error;

/// A unit of the calendar in a time zone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Calendar {
    unit: Unit,
    zone: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    Day,
    /// From Monday.
    Week,
    Month,
    Year,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadCalendar {
    #[error("`{0}` is not a time zone: use a name such as Europe/Berlin or UTC")]
    Zone(String),
    #[error("`{0}` is not a calendar unit: use day, week, month or year")]
    Unit(String),
}

/// All values that [`Unit::parse`] accepts.
pub const CALENDAR_PERIODS: [&str; 18] = [
    "day", "1d", "1day", "1 day", "24h", "week", "1w", "1week", "1 week", "7d", "month", "1mo", "1month", "1 month",
    "year", "1y", "1year", "1 year",
];

/// Regular expression of the rates with a unit of the calendar that other rates don't have.
pub const CALENDAR_RATE: &str = r"^\s*\+?0*[1-9][0-9]*\s*/\s*(1?(mo|month|y|year)|1 (month|year))\s*$";

impl Unit {
    /// Parses `day`, `1d`, `month` ….
    ///
    /// # Errors
    /// For any other text.
    pub fn parse(text: &str) -> Result<Self, BadCalendar> {
        match text.trim() {
            "day" | "1d" | "1day" | "1 day" | "24h" => Ok(Self::Day),
            "week" | "1w" | "1week" | "1 week" | "7d" => Ok(Self::Week),
            "month" | "1mo" | "1month" | "1 month" => Ok(Self::Month),
            "year" | "1y" | "1year" | "1 year" => Ok(Self::Year),
            other => Err(BadCalendar::Unit(other.chars().take(32).collect())),
        }
    }

    /// The nominal length of a window, without clock changes, of the longest months and years.
    pub(crate) fn length(self) -> Duration {
        let days = match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 31,
            Self::Year => 366,
        };
        Duration::from_hours(days * 24)
    }
}

impl Calendar {
    /// Windows of this unit, in this time zone.
    ///
    /// # Errors
    /// For an unknown time zone.
    pub fn new(unit: Unit, zone: &str) -> Result<Self, BadCalendar> {
        TimeZone::get(zone).map_err(|_| BadCalendar::Zone(zone.chars().take(64).collect()))?;
        Ok(Self { unit, zone: zone.to_owned() })
    }

    pub fn unit(&self) -> Unit {
        self.unit
    }

    pub fn zone(&self) -> &str {
        &self.zone
    }

    /// The starts of the window of `now_us` and of the next two, in µs since 1970.
    pub(crate) fn borders(&self, now_us: u64) -> [u64; 3] {
        self.find(now_us).unwrap_or_else(|_| {
            // Beyond the range of calendar times: windows of the nominal length.
            let length = u64::try_from(self.unit.length().as_micros()).unwrap_or(u64::MAX);
            let start = now_us - now_us % length;
            [start, start + length, start + 2 * length]
        })
    }

    fn find(&self, now_us: u64) -> Result<[u64; 3], jiff::Error> {
        // Exists, because `new` has found it.
        let zone = TimeZone::get(&self.zone)?;
        let now = Timestamp::from_microsecond(i64::try_from(now_us).unwrap_or(i64::MAX))?.to_zoned(zone);
        let start = self.start_of(&now)?;
        let next = self.after(&start)?;
        Ok([micros(&start), micros(&next), micros(&self.after(&next)?)])
    }

    fn start_of(&self, now: &Zoned) -> Result<Zoned, jiff::Error> {
        let day = now.start_of_day()?;
        match self.unit {
            Unit::Day => Ok(day),
            Unit::Week => {
                let since_monday = now.weekday().since(Weekday::Monday);
                day.checked_sub(Span::new().days(since_monday))?.start_of_day()
            }
            Unit::Month => day.first_of_month()?.start_of_day(),
            Unit::Year => day.first_of_year()?.start_of_day(),
        }
    }

    /// The start of the window after the one that begins at `start`. Computed by date, because days may be shorter or
    /// longer than 24 hours, and a zone may skip a whole day.
    fn after(&self, start: &Zoned) -> Result<Zoned, jiff::Error> {
        let span = match self.unit {
            Unit::Day => Span::new().days(1),
            Unit::Week => Span::new().weeks(1),
            Unit::Month => Span::new().months(1),
            Unit::Year => Span::new().years(1),
        };
        start.date().checked_add(span)?.to_zoned(start.time_zone().clone())?.start_of_day()
    }
}

fn micros(time: &Zoned) -> u64 {
    u64::try_from(time.timestamp().as_microsecond()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
