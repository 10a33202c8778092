//! Wakes a replica that waits for a job: by the message that jobs wait, or when a job that it has parked is due.
//!
//! The message reaches all replicas, but one take is enough for a job. So a replica that came too late several times in
//! a row waits a few ms after a message, and doesn't take if `taken` was published by then (notices.lua). It doesn't
//! wait if the jobs before weren't followed by `taken`: then the other replicas had no room for all of them.

use std::time::Duration;

use dripfeed_store::{Bell, Ring};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

/// A replica that gets its part of the jobs comes too late for no more than this many in a row.
const USUAL_MISSES: u32 = 4;
/// How often the delay is doubled at most.
const MAX_DOUBLINGS: u32 = 3;

#[derive(Debug)]
pub(crate) struct Wakes {
    bell: Mutex<JobBell>,
    pub(crate) retries: Retries,
}

#[derive(Debug)]
struct JobBell {
    /// Hushed before each take, which sees all jobs admitted before.
    bell: Bell,
    /// Whether this replica delayed its take after a message; `None` if none came since the last take.
    delayed: Option<bool>,
    /// Takes after a message that found no job, since one found a job.
    too_late: u32,
}

impl Wakes {
    pub(crate) fn new(bell: Bell) -> Self {
        Self { bell: Mutex::new(JobBell { bell, delayed: None, too_late: 0 }), retries: Retries::default() }
    }

    /// Called before a take, which sees all jobs that were announced or are due.
    pub(crate) fn clear(&self) {
        self.bell.lock().bell.reset();
        self.retries.clear_due();
    }

    /// Notes whether a take found jobs. Not called for a take that had to wait for anything else.
    pub(crate) fn found(&self, jobs: bool) {
        let mut bell = self.bell.lock();
        let delayed = bell.delayed.take();
        if jobs {
            bell.too_late = 0;
        } else if delayed.is_some_and(|delayed| delayed || bell.too_late <= USUAL_MISSES) {
            bell.too_late = bell.too_late.saturating_add(1);
        }
    }

    /// Whether other replicas take most of the announced jobs before this one.
    pub(crate) fn is_late(&self) -> bool {
        !self.delay().is_zero()
    }

    fn delay(&self) -> Duration {
        delay(self.bell.lock().too_late)
    }

    /// A bell that rings for jobs that are announced from now on.
    pub(crate) fn of_new_jobs(&self) -> Bell {
        let mut bell = self.bell.lock().bell.clone();
        bell.reset();
        bell
    }

    /// Waits until another take may find a job. Cancel-safe.
    pub(crate) async fn next(&self) {
        tokio::select! {
            () = self.announced() => {}
            () = self.retries.due() => {}
        }
    }

    async fn announced(&self) {
        // A clone rings for all messages since the last take.
        let mut bell = self.bell.lock().bell.clone();
        loop {
            let ring = bell.wait_for_ring().await;
            let delay = if ring == Ring::Message && bell.was_done() { self.delay() } else { Duration::ZERO };
            if !delay.is_zero() {
                sleep(delay.mul_f64(f64::midpoint(1.0, fastrand::f64()))).await;
                if bell.is_done() {
                    continue;
                }
            }
            self.bell.lock().delayed = (ring == Ring::Message).then_some(!delay.is_zero());
            return;
        }
    }
}

/// How long a replica that came too late this often lets the others take first.
const fn delay(too_late: u32) -> Duration {
    match too_late.checked_sub(USUAL_MISSES + 1) {
        None => Duration::ZERO,
        Some(times) => Duration::from_millis(1 << if times < MAX_DOUBLINGS { times } else { MAX_DOUBLINGS }),
    }
}

/// When the next job that this replica has parked is due.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    /// Only the earliest: when it is due, a take of this replica, or of another one (`Replica::offer_retries`), also
    /// learns when the next ones are.
    next: Mutex<Option<Instant>>,
    earlier: Notify,
}

impl Retries {
    /// Adds a job that is due after this time.
    pub(crate) fn add(&self, after: Duration) {
        // A time beyond the range of the clock is left to the takes.
        let Some(at) = Instant::now().checked_add(after) else { return };
        let mut next = self.next.lock();
        if next.is_none_or(|next| at < next) {
            *next = Some(at);
            self.earlier.notify_one();
        }
    }

    /// Called before a take, which sees the jobs that are due by now.
    pub(crate) fn clear_due(&self) {
        let now = Instant::now();
        self.next.lock().take_if(|at| *at <= now);
    }

    /// Waits until the next job is due. For one waiter at a time.
    pub(crate) async fn due(&self) {
        loop {
            let next = *self.next.lock();
            let Some(at) = next else {
                self.earlier.notified().await;
                continue;
            };
            tokio::select! {
                () = sleep_until(at) => return,
                () = self.earlier.notified() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Duration = Duration::from_hours(1);

    #[test]
    fn who_comes_too_late_several_times_in_a_row_lets_others_ask_first_and_never_for_long() {
        let delays: Vec<u128> = (0..12).map(|too_late| delay(too_late).as_millis()).collect();
        assert_eq!(delays, [0, 0, 0, 0, 0, 1, 2, 4, 8, 8, 8, 8]);
        assert_eq!(delay(u32::MAX), delay(8));
    }

    #[tokio::test]
    async fn the_earliest_is_waited_for_also_when_it_comes_later() {
        let retries = Retries::default();
        retries.add(LATER);
        tokio::join!(retries.due(), async { retries.add(Duration::ZERO) });
    }

    #[tokio::test]
    async fn what_a_take_saw_is_not_waited_for() {
        let retries = Retries::default();
        retries.add(Duration::ZERO);
        retries.clear_due();
        let mut due = Box::pin(retries.due());
        assert!(futures::poll!(&mut due).is_pending());
        retries.add(Duration::ZERO);
        due.await;
    }
}
