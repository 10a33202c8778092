//! Sleeps that end within a fraction of a millisecond. Tokio's timers count whole ones: a bucket without burst loses all
//! that its tokens wait for their calls, a twentieth of a hundred a second.

use std::time::Duration;

use tokio::time::sleep;

/// Of a longer sleep a millisecond is a small part.
const SHORT: Duration = Duration::from_millis(100);

pub(super) async fn precise_sleep(wait: Duration) {
    #[cfg(target_os = "linux")]
    if !wait.is_zero()
        && wait < SHORT
        && let Ok(timer) = linux::timer(wait)
        && timer.readable().await.is_ok()
    {
        return;
    }
    sleep(wait).await;
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// Readable after this time.
    pub(super) fn timer(wait: Duration) -> io::Result<AsyncFd<OwnedFd>> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
        let times = Itimerspec { it_interval: once, it_value: wait };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times)?;
        AsyncFd::with_interest(timer, Interest::READABLE)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn no_sleep_ends_early() {
        for wait in [Duration::ZERO, Duration::from_micros(10), Duration::from_micros(1500), SHORT] {
            let begun = Instant::now();
            precise_sleep(wait).await;
            assert!(begun.elapsed() >= wait, "{wait:?}");
        }
    }
}
