//! Notifies systemd over the socket in `NOTIFY_SOCKET`: ready, reloading, stopping, and the watchdog. Without that
//! variable nothing is sent.

use std::convert::Infallible;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

use crate::background;

/// A watchdog that waits for no time at all would end every process.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// The role does its work from now on, until `stop`.
pub(crate) fn ready(stop: CancellationToken) {
    send(&[NotifyState::Ready]);
    background::spawn(async move {
        stop.cancelled().await;
        send(&[NotifyState::Stopping]);
    });
    if let Some(timeout) = sd_notify::watchdog_enabled() {
        background::spawn(keep_awake((timeout / 2).max(SHORTEST_INTERVAL)));
    }
}

/// Until the process ends, so also while it drains. A task, because a runtime that is stuck then sends nothing.
async fn keep_awake(interval: Duration) -> Infallible {
    let mut ticks = tokio::time::interval(interval);
    loop {
        ticks.tick().await;
        send(&[NotifyState::Watchdog]);
    }
}

/// The settings are read again; `reloaded` follows.
pub(crate) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => send(&[NotifyState::Reloading, now]),
        Err(error) => tracing::debug!(%error, "could not read the monotonic clock; reloads aren't reported to the \
            service manager"),
    }
}

/// `became`: what became of that, which is shown until the next time: a reload itself can't fail.
pub(crate) fn reloaded(became: &str) {
    send(&[NotifyState::Ready, NotifyState::Status(became)]);
}

fn send(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "could not notify the service manager at NOTIFY_SOCKET");
    }
}
