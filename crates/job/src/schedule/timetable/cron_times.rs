//! The times of a cron expression in a time zone, also on days on which the clock changes. As cron does it on most
//! systems: a fixed time, one without `*` in minute and hour, comes once on each of its days; what is repeated by the
//! minute or hour goes by the time that passes.

use croner::Cron;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp, Zoned};

/// What a time that isn't before another one is before.
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

    /// The first one after `after`. None: no more come.
    pub(super) fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let after = after.to_zoned(self.zone.clone());
        if self.is_fixed { self.next_fixed(&after) } else { Some(self.next_of(&after)?.timestamp()) }
    }

    fn next_of(&self, after: &Zoned) -> Option<Zoned> {
        self.cron.find_next_occurrence(after, false).ok()
    }

    /// By the clock on the wall, which shows some of its times twice: those that have been are passed over.
    fn next_fixed(&self, after: &Zoned) -> Option<Timestamp> {
        let mut on_the_wall = after.datetime().to_zoned(TimeZone::UTC).ok()?;
        loop {
            on_the_wall = self.next_of(&on_the_wall)?;
            let next = self.when(on_the_wall.datetime())?;
            if next > after.timestamp() {
                return Some(next);
            }
        }
    }

    /// When the clock on the wall shows this time, or for the first time a later one: where it repeats an hour, the
    /// first of both.
    fn when(&self, on_the_wall: DateTime) -> Option<Timestamp> {
        let times = self.zone.to_ambiguous_timestamp(on_the_wall);
        let AmbiguousOffset::Gap { before, .. } = times.offset() else { return times.earlier().ok() };
        // By the clock that was right before it, the change was by then.
        let by_then = before.to_timestamp(on_the_wall).ok()?;
        let change = self.zone.preceding(by_then.checked_add(INSTANT).ok()?).next();
        Some(change.map_or(by_then, |change| change.timestamp()))
    }
}
