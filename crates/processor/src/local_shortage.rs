//! This machine lacks open files, ports, threads, or memory for sockets. Then no call was made, and the upstream isn't
//! the cause, so it doesn't count as an attempt.

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

/// A shortage that wasn't met for so long is over: while it lasts, some calls succeed and others don't.
const OVER_AFTER: Duration = Duration::from_secs(5);

/// Why a call couldn't be made here.
#[derive(Debug, Error)]
#[error(
    "{0}; raise the limits of this process (files: LimitNOFILE=, ulimit -Hn; threads: TasksMax=, ulimit -Hu) or \
    lower leak.concurrency"
)]
pub(crate) struct LocalShortage(String);

impl LocalShortage {
    /// Where `error` comes of one.
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
        // One that holds another names the other's source, and not the other itself, as its own.
        None => error.get_ref().and_then(|held| held.downcast_ref()).is_some_and(is_local_shortage),
    }
}

/// What the system answers where it gives no thread.
pub(crate) fn shortage_of_threads() -> io::Error {
    io::Error::from_raw_os_error(Errno::EAGAIN as i32)
}

/// The resolver doesn't say why it found nothing: whether it may open no file is seen by opening one.
pub(crate) fn shortage_of_files() -> Option<io::Error> {
    File::open("/dev/null").err().filter(is_local_shortage)
}

/// What one lane has met of shortages: it waits longer from time to time before it takes again, and logs the begin and
/// the end.
pub(crate) struct ShortageBackoff(Mutex<ShortageState>);

struct ShortageState {
    retry: LoggedRetry,
    last: Option<Instant>,
    /// Until then nothing is taken.
    until: Option<Instant>,
}

impl ShortageBackoff {
    pub(crate) const fn none_yet(bucket: BucketName) -> Self {
        let retry = LoggedRetry::new(bucket, "open connections to the upstream");
        Self(Mutex::new(ShortageState { retry, last: None, until: None }))
    }

    /// Of calls that fail together, the first counts.
    pub(crate) fn met(&self, shortage: &LocalShortage) {
        let (mut met, now) = (self.0.lock(), Instant::now());
        met.last = Some(now);
        if met.until.is_none_or(|until| until <= now) {
            met.until = Some(now + met.retry.failed(shortage));
        }
    }

    /// A call could be made.
    pub(crate) fn passed(&self) {
        let mut met = self.0.lock();
        if met.last.is_some_and(|last| last.elapsed() >= OVER_AFTER) {
            met.retry.over();
            (met.last, met.until) = (None, None);
        }
    }

    /// How long to take nothing.
    pub(crate) fn wait(&self) -> Option<Duration> {
        let until = self.0.lock().until?;
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
        let shortage = ShortageBackoff::none_yet(bucket);
        assert_eq!(shortage.wait(), None);
        let mut waits = Vec::new();
        for _ in 0..8 {
            shortage.met(&LocalShortage(String::new()));
            shortage.met(&LocalShortage(String::new()));
            waits.push(shortage.wait().unwrap_or_default());
            shortage.0.lock().until = None;
        }
        assert!(waits[0] < waits[7] && !waits[0].is_zero(), "{waits:?}");
    }
}
