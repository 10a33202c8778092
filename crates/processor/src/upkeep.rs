//! Periodic work of a replica: sends its heartbeat, requeues the jobs of dead replicas, deletes expired records,
//! reports dropped dead letters, and writes the history.

use std::convert::Infallible;
use std::time::Duration;

use dripfeed_bucket::{Bucket, Replica};
use dripfeed_job::Ending;
use tokio::time::{Instant, MissedTickBehavior, interval, interval_at};

use crate::logged_retry::LoggedRetry;
use crate::metrics::{LaneMetrics, RecentCalls};

/// Delay of the first heartbeat: joining counts as one, and the first jobs shouldn't wait for it.
const FIRST_BEAT: Duration = Duration::from_millis(100);
const RETENTION_INTERVAL: Duration = Duration::from_secs(2);
/// Minimum time between two log lines about dropped dead letters.
const BETWEEN_LINES: Duration = Duration::from_mins(1);
const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
/// While this replica makes no calls, it samples at every third tick only: others may still change the bucket.
const QUIET_TICKS: u32 = 3;

/// Runs until this replica has been declared dead.
pub(crate) async fn run_until_fenced(replica: &Replica, bucket: &Bucket, metrics: &LaneMetrics) {
    tokio::select! {
        () = send_heartbeats(replica, bucket, metrics) => {}
        never = keep_retention(replica, bucket, metrics) => match never {},
        never = keep_history(bucket, metrics.recent_calls()) => match never {},
    }
}

async fn send_heartbeats(replica: &Replica, bucket: &Bucket, metrics: &LaneMetrics) {
    let mut ticks = interval_at(Instant::now() + FIRST_BEAT, replica.beat_interval());
    // Heartbeats that were missed aren't sent later: they would inform nobody.
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
                retry.succeeded();
            }
            // The next heartbeat is the retry.
            Err(error) => drop(retry.failed(&error)),
        }
    }
}

/// Adds the calls of this replica to the history. If that fails, they are dropped: the history is informational.
async fn keep_history(bucket: &Bucket, recent_calls: &RecentCalls) -> Infallible {
    let mut ticks = interval(SAMPLE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut retry = LoggedRetry::new(bucket.name().clone(), "write the history");
    let mut quiet = QUIET_TICKS;
    loop {
        ticks.tick().await;
        let calls = recent_calls.take();
        quiet += 1;
        if calls.is_empty() && quiet < QUIET_TICKS {
            continue;
        }
        quiet = 0;
        match bucket.sample_history(&calls).await {
            Ok(()) => retry.succeeded(),
            Err(error) => drop(retry.failed(&error)),
        }
    }
}

async fn keep_retention(replica: &Replica, bucket: &Bucket, metrics: &LaneMetrics) -> Infallible {
    let mut ticks = interval(RETENTION_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut retry = LoggedRetry::new(bucket.name().clone(), "delete expired records");
    let mut report = DroppedReport::since(replica.letters_dropped_before());
    loop {
        ticks.tick().await;
        match bucket.enforce_retention().await {
            Ok(retention) => {
                retry.succeeded();
                metrics.ended_uncalled(Ending::Expired, retention.expired);
                report.report(bucket, retention.dead_dropped, Instant::now());
            }
            Err(error) => drop(retry.failed(&error)),
        }
    }
}

/// Reports dead letters that were dropped since this replica joined.
struct DroppedReport {
    /// How many were already reported, or dropped before.
    reported: u64,
    last_line: Option<Instant>,
}

impl DroppedReport {
    const fn since(dropped: u64) -> Self {
        Self { reported: dropped, last_line: None }
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

    /// The number of letters to report now, of all that were `dropped`.
    fn more(&mut self, dropped: u64, now: Instant) -> Option<u64> {
        let reported = self.reported;
        let is_due = self.last_line.is_none_or(|line| now.duration_since(line) >= BETWEEN_LINES);
        if dropped <= reported || !is_due {
            return None;
        }
        (self.reported, self.last_line) = (dropped, Some(now));
        Some(dropped - reported)
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
