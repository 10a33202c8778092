//! Notifies systemd over the socket in `NOTIFY_SOCKET`: ready, reloading, stopping, and the watchdog. Without that
//! variable nothing is sent.

use std::convert::Infallible;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

use crate::background;

/// `tokio::time::interval` panics at 0.
const MIN_INTERVAL: Duration = Duration::from_millis(1);

/// Reports that the role is ready, and at `stop` that it is stopping. Starts to notify the watchdog.
pub(crate) fn ready(stop: CancellationToken) {
    send(&[NotifyState::Ready]);
    background::spawn(async move {
        stop.cancelled().await;
        send(&[NotifyState::Stopping]);
    });
    if let Some(timeout) = sd_notify::watchdog_enabled() {
        background::spawn(notify_watchdog((timeout / 2).max(MIN_INTERVAL)));
    }
}

/// Notifies the watchdog until the process ends, including the drain. A task and not a thread, so that a runtime that
/// is stuck sends nothing.
async fn notify_watchdog(interval: Duration) -> Infallible {
    let mut ticks = tokio::time::interval(interval);
    loop {
        ticks.tick().await;
        send(&[NotifyState::Watchdog]);
    }
}

/// Reports that a reload has begun. `reloaded` must follow.
pub(crate) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => send(&[NotifyState::Reloading, now]),
        Err(error) => tracing::debug!(%error, "could not read the monotonic clock; reloads aren't reported to the \
            service manager"),
    }
}

/// Reports the end of a reload. systemd has no notification for a failed reload, so `result` is shown as the status.
pub(crate) fn reloaded(result: &str) {
    send(&[NotifyState::Ready, NotifyState::Status(result)]);
}

fn send(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "could not notify the service manager at NOTIFY_SOCKET");
    }
}
