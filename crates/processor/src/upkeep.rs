//! Periodic work of a replica: sends its heartbeat, requeues the jobs of dead replicas, deletes expired records,
//! reports dropped dead letters, and writes the history.

use std::convert::Infallible;
use std::time::Duration;

use dripfeed_bucket::{Bucket, Replica};
use dripfeed_job::Ending;
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at};

use crate::logged_retry::LoggedRetry;
use crate::metrics::{LaneMetrics, SeenCalls};

/// Of a new member's first heartbeat: it began when it joined, and its first jobs come first.
const FIRST_BEAT: Duration = Duration::from_millis(100);
/// Between two times that ended work is forgotten.
const RETENTION: Duration = Duration::from_secs(2);
/// Between two lines about dropped letters.
const BETWEEN_LINES: Duration = Duration::from_mins(1);
/// Between two samples of the history.
const BETWEEN_SAMPLES: Duration = Duration::from_secs(1);
/// While nothing is seen, one in this many seconds is enough for what others do to the bucket.
const QUIET_TICKS: u32 = 3;

/// Until this replica has itself been declared dead.
pub(crate) async fn until_fenced(replica: &Replica, bucket: &Bucket, metrics: &LaneMetrics) {
    tokio::select! {
        () = beat(replica, bucket, metrics) => {}
        never = keep_retention(replica, bucket, metrics) => match never {},
        never = keep_history(bucket, metrics.seen()) => match never {},
    }
}

async fn beat(replica: &Replica, bucket: &Bucket, metrics: &LaneMetrics) {
    let mut ticks = interval_at(Instant::now() + FIRST_BEAT, replica.beat_interval());
    // After a pause the beats go on as before: catching up on those that were missed would say nothing to the others.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut retry = LoggedRetry::new(bucket.name().clone(), "send its heartbeat");
    loop {
        ticks.tick().await;
        match replica.beat().await {
            Ok(recovery) => {
                metrics.recovered(&recovery);
                if recovery.fenced {
                    return;
                }
                retry.over();
            }
            // The next beat is the next try.
            Err(error) => drop(retry.failed(&error)),
        }
    }
}

/// Apart from settlements, which never wait for it. What can't be added is dropped: it is for looking at only.
async fn keep_history(bucket: &Bucket, seen: &SeenCalls) -> Infallible {
    let mut ticks = interval(BETWEEN_SAMPLES);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut retry = LoggedRetry::new(bucket.name().clone(), "write the history");
    let mut quiet = QUIET_TICKS;
    loop {
        ticks.tick().await;
        let calls = seen.take();
        quiet += 1;
        if calls.is_empty() && quiet < QUIET_TICKS {
            continue;
        }
        quiet = 0;
        match bucket.sample_history(&calls).await {
            Ok(()) => retry.over(),
            Err(error) => drop(retry.failed(&error)),
        }
    }
}

async fn keep_retention(replica: &Replica, bucket: &Bucket, metrics: &LaneMetrics) -> Infallible {
    let mut ticks = interval(RETENTION);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut retry = LoggedRetry::new(bucket.name().clone(), "delete expired records");
    let mut report = DroppedReport::since(replica.letters_dropped_before());
    loop {
        ticks.tick().await;
        match bucket.enforce_retention().await {
            Ok(retention) => {
                retry.over();
                metrics.ended_on_the_way(Ending::Expired, retention.expired);
                report.report(bucket, retention.dead_dropped, Instant::now());
            }
            Err(error) => drop(retry.failed(&error)),
        }
    }
}

/// How many dropped letters the log knows of. Those before this replica joined aren't its to report.
struct DroppedReport {
    dropped: u64,
    line: Option<Instant>,
}

impl DroppedReport {
    const fn since(dropped: u64) -> Self {
        Self { dropped, line: None }
    }

    fn report(&mut self, bucket: &Bucket, dropped: u64, now: Instant) {
        if let Some(more) = self.more(dropped, now) {
            let bucket = bucket.name();
            tracing::warn!(
                %bucket,
                dropped = more,
                "dead letters were dropped: raise keep.most_dead, keep.dead_bytes or keep.dead, replay or delete \
                 letters, or set when_dead_full = \"hold\""
            );
        }
    }

    /// How many more there are to report now.
    fn more(&mut self, dropped: u64, now: Instant) -> Option<u64> {
        let known = self.dropped;
        let is_due = self.line.is_none_or(|line| now.duration_since(line) >= BETWEEN_LINES);
        if dropped <= known || !is_due {
            return None;
        }
        (self.dropped, self.line) = (dropped, Some(now));
        Some(dropped - known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_letters_are_reported_at_most_once_a_minute_and_none_is_left_out() {
        let (mut report, start) = (DroppedReport::since(7), Instant::now());
        let mut more = |dropped, second| report.more(dropped, start + Duration::from_secs(second));
        assert_eq!(more(7, 0), None, "from before it joined");
        assert_eq!(more(9, 1), Some(2));
        assert_eq!(more(12, 30), None, "too soon");
        assert_eq!(more(12, 61), Some(3));
        assert_eq!(more(12, 200), None, "nothing new");
    }
}
