//! What wakes a replica that waits for a job: a message that there is one, and the time at which one that it has parked
//! is due. Then another take is worthwhile, whatever the last one returned.
//!
//! A job in an idle bucket rings for all replicas, and one question is enough. So a replica that came too late several
//! times in a row waits a moment before it asks, and doesn't ask where the jobs are taken by then (`taken`, in
//! notices.lua). It asks at once where who took the last ones had no room for more.

use std::time::Duration;

use dripfeed_store::{Bell, Ring};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

/// Who gets a part of the jobs comes too late for fewer in a row.
const FEW: u32 = 4;
/// How often the moment becomes twice as long, where it was too short.
const DOUBLINGS: u32 = 3;

#[derive(Debug)]
pub(crate) struct Wakes {
    bell: Mutex<JobBell>,
    pub(crate) retries: Retries,
}

#[derive(Debug)]
struct JobBell {
    /// Hushed before each take: that sees what was admitted before.
    bell: Bell,
    /// Since the last take. Some: it rang; and whether this replica waited a moment then.
    rung: Option<bool>,
    /// How many takes that it rang for found nothing, since one found something.
    too_late: u32,
}

impl Wakes {
    pub(crate) fn new(bell: Bell) -> Self {
        Self { bell: Mutex::new(JobBell { bell, rung: None, too_late: 0 }), retries: Retries::default() }
    }

    /// A take is about to look.
    pub(crate) fn forget(&self) {
        self.bell.lock().bell.hush();
        self.retries.forget();
    }

    /// Whether a take found jobs. One that has to wait for anything else than a job hasn't looked.
    pub(crate) fn found(&self, jobs: bool) {
        let mut bell = self.bell.lock();
        let rung = bell.rung.take();
        if jobs {
            bell.too_late = 0;
        } else if rung.is_some_and(|has_waited| has_waited || bell.too_late <= FEW) {
            bell.too_late = bell.too_late.saturating_add(1);
        }
    }

    /// Whether this replica comes too late for most jobs.
    pub(crate) fn is_late(&self) -> bool {
        !self.moment().is_zero()
    }

    fn moment(&self) -> Duration {
        moment(self.bell.lock().too_late)
    }

    /// Rings for what comes from now on.
    pub(crate) fn of_new_jobs(&self) -> Bell {
        let mut bell = self.bell.lock().bell.clone();
        bell.hush();
        bell
    }

    /// Until another take may be worthwhile. Cancel-safe.
    pub(crate) async fn next(&self) {
        tokio::select! {
            () = self.rung() => {}
            () = self.retries.due() => {}
        }
    }

    async fn rung(&self) {
        // A copy rings for all that came since the last take.
        let mut bell = self.bell.lock().bell.clone();
        loop {
            let ring = bell.rung().await;
            let moment = if ring == Ring::Word && bell.was_done() { self.moment() } else { Duration::ZERO };
            if !moment.is_zero() {
                sleep(moment.mul_f64(f64::midpoint(1.0, fastrand::f64()))).await;
                if bell.is_done() {
                    continue;
                }
            }
            self.bell.lock().rung = (ring == Ring::Word).then_some(!moment.is_zero());
            return;
        }
    }
}

/// For how long who came too late so often lets others ask first.
const fn moment(too_late: u32) -> Duration {
    match too_late.checked_sub(FEW + 1) {
        None => Duration::ZERO,
        Some(times) => Duration::from_millis(1 << if times < DOUBLINGS { times } else { DOUBLINGS }),
    }
}

/// When the next job that this replica has parked is due.
#[derive(Debug, Default)]
pub(crate) struct Retries {
    /// At the latest with the first of them all are seen: by a take, or by others (`Replica::offer_retries`).
    next: Mutex<Option<Instant>>,
    earlier: Notify,
}

impl Retries {
    /// One is due so long from now.
    pub(crate) fn add(&self, after: Duration) {
        // What is further off than the clock counts, a take will see.
        let Some(at) = Instant::now().checked_add(after) else { return };
        let mut next = self.next.lock();
        if next.is_none_or(|next| at < next) {
            *next = Some(at);
            self.earlier.notify_one();
        }
    }

    /// A take is about to look: at what is due by now, and where it leaves no room for another job at nothing else.
    pub(crate) fn forget(&self) {
        let now = Instant::now();
        self.next.lock().take_if(|at| *at <= now);
    }

    /// Until the next is due. For one who waits.
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
        let moments: Vec<u128> = (0..12).map(|too_late| moment(too_late).as_millis()).collect();
        assert_eq!(moments, [0, 0, 0, 0, 0, 1, 2, 4, 8, 8, 8, 8]);
        assert_eq!(moment(u32::MAX), moment(8));
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
        retries.forget();
        let mut due = Box::pin(retries.due());
        assert!(futures::poll!(&mut due).is_pending());
        retries.add(Duration::ZERO);
        due.await;
    }
}
