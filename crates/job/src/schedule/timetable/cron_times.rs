//! The times of a cron expression in a time zone. On days with a clock change they are those of cron on most systems: a
//! fixed time, that is, one without `*` in minute and hour, comes exactly once; times that repeat by the minute or hour
//! follow elapsed time.

use croner::Cron;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, Zoned};

/// Makes a search that excludes its start include it.
const INSTANT: SignedDuration = SignedDuration::from_nanos(1);

#[derive(Clone, Debug)]
pub struct CronTimes {
    cron: Cron,
    zone: TimeZone,
    is_fixed: bool,
}

impl CronTimes {
    pub(super) fn new(expression: &str, cron: Cron, zone: TimeZone) -> Self {
        let is_fixed = !expression.split_whitespace().take(2).any(|field| field.contains(['*', '?']));
        Self { cron, zone, is_fixed }
    }

    /// Returns the first time after `after`, or `None` if there are no more.
    pub(super) fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let after = after.to_zoned(self.zone.clone());
        if self.is_fixed { self.next_fixed(&after) } else { Some(self.next_of(&after)?.timestamp()) }
    }

    fn next_of(&self, after: &Zoned) -> Option<Zoned> {
        self.cron.find_next_occurrence(after, false).ok()
    }

    /// Searches by local time, which shows some times twice. The second occurrence is skipped.
    fn next_fixed(&self, after: &Zoned) -> Option<Timestamp> {
        let mut local = after.datetime().to_zoned(TimeZone::UTC).ok()?;
        loop {
            local = self.next_of(&local)?;
            let next = self.when(local.datetime())?;
            if next > after.timestamp() {
                return Some(next);
            }
        }
    }

    /// When a local clock first shows this time, or a later one if a clock change skips it.
    fn when(&self, local: DateTime) -> Option<Timestamp> {
        let times = self.zone.to_ambiguous_timestamp(local);
        let AmbiguousOffset::Gap { before, .. } = times.offset() else { return times.earlier().ok() };
        // With the offset before the change, the skipped time is at or after the change.
        let unchanged = before.to_timestamp(local).ok()?;
        let change = self.zone.preceding(unchanged.checked_add(INSTANT).ok()?).next();
        Some(change.map_or(unchanged, |change| change.timestamp()))
    }
}
