//! Shortages of this machine: of open files, ports, threads, or memory for sockets. No call was made then and the
//! upstream isn't the cause, so that is no attempt.

use std::error::Error;
use std::fs::File;
use std::io;
use std::time::Duration;

use dripfeed_job::BucketName;
use nix::errno::Errno;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::time::Instant;

use crate::logged_retry::LoggedRetry;

/// A shortage has ended when no call failed for this long: while it lasts, some calls succeed and others don't.
const OVER_AFTER: Duration = Duration::from_secs(5);

/// Why this machine couldn't make a call.
#[derive(Debug, Error)]
#[error(
    "{0}; raise the limits of this process (files: LimitNOFILE=, ulimit -Hn; threads: TasksMax=, ulimit -Hu) or \
    lower leak.concurrency"
)]
pub(crate) struct LocalShortage(String);

impl LocalShortage {
    /// Returns `None` if `error` has another cause.
    pub(crate) fn behind(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut causes = std::iter::successors(Some(error), |cause| (*cause).source());
        let io = causes.find_map(|cause| cause.downcast_ref::<io::Error>().filter(|io| is_local_shortage(io)))?;
        Some(Self(io.to_string()))
    }
}

pub(crate) fn is_local_shortage(error: &io::Error) -> bool {
    let shortages = [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::ENOBUFS, Errno::EADDRNOTAVAIL, Errno::EAGAIN];
    match error.raw_os_error() {
        Some(code) => shortages.contains(&Errno::from_raw(code)),
        // The source of an `io::Error` that wraps another error is that error's source, not the error itself.
        None => error.get_ref().and_then(|inner| inner.downcast_ref()).is_some_and(is_local_shortage),
    }
}

/// The error of the system when it can't start a thread.
pub(crate) fn shortage_of_threads() -> io::Error {
    io::Error::from_raw_os_error(Errno::EAGAIN as i32)
}

/// Tries to open a file, as the resolver doesn't report a lack of files.
pub(crate) fn shortage_of_files() -> Option<io::Error> {
    File::open("/dev/null").err().filter(is_local_shortage)
}

/// Backoff of a lane's claims during a shortage, which logs its begin and its end.
pub(crate) struct ShortageBackoff(Mutex<ShortageState>);

struct ShortageState {
    retry: LoggedRetry,
    last: Option<Instant>,
    /// No job is claimed before.
    wait_until: Option<Instant>,
}

impl ShortageBackoff {
    pub(crate) const fn new(bucket: BucketName) -> Self {
        let retry = LoggedRetry::new(bucket, "open connections to the upstream");
        Self(Mutex::new(ShortageState { retry, last: None, wait_until: None }))
    }

    /// Of calls that fail together, only the first extends the backoff.
    pub(crate) fn on_shortage(&self, shortage: &LocalShortage) {
        let (mut state, now) = (self.0.lock(), Instant::now());
        state.last = Some(now);
        if state.wait_until.is_none_or(|until| until <= now) {
            state.wait_until = Some(now + state.retry.failed(shortage));
        }
    }

    pub(crate) fn on_call(&self) {
        let mut state = self.0.lock();
        if state.last.is_some_and(|last| last.elapsed() >= OVER_AFTER) {
            state.retry.succeeded();
            (state.last, state.wait_until) = (None, None);
        }
    }

    /// How long to wait before the next claim.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let until = self.0.lock().wait_until?;
        Some(until.saturating_duration_since(Instant::now())).filter(|wait| !wait.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno as i32)
    }

    #[test]
    fn what_this_machine_lacks_is_known_below_other_errors() {
        let shortages =
            [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::ENOBUFS, Errno::EADDRNOTAVAIL, Errno::EAGAIN];
        for errno in shortages {
            assert!(LocalShortage::behind(&error(errno)).is_some(), "{errno}");
            assert!(LocalShortage::behind(&io::Error::other(error(errno))).is_some(), "{errno}");
        }
        for errno in [Errno::ECONNREFUSED, Errno::ECONNRESET, Errno::EHOSTUNREACH, Errno::ETIMEDOUT] {
            assert!(LocalShortage::behind(&error(errno)).is_none(), "{errno}");
        }
    }

    #[test]
    fn a_lane_waits_longer_from_time_to_time() {
        let Ok(bucket) = "b".parse() else { return };
        let shortage = ShortageBackoff::new(bucket);
        assert_eq!(shortage.wait(), None);
        let mut waits = Vec::new();
        for _ in 0..8 {
            shortage.on_shortage(&LocalShortage(String::new()));
            shortage.on_shortage(&LocalShortage(String::new()));
            waits.push(shortage.wait().unwrap_or_default());
            shortage.0.lock().wait_until = None;
        }
        assert!(waits[0] < waits[7] && !waits[0].is_zero(), "{waits:?}");
    }
}
