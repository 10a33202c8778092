//! What the outside tells a running process.

use std::io;

use tokio::io::AsyncReadExt as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancelled by SIGTERM or Ctrl-C.
///
/// # Errors
/// When the process can't be told of signals.
pub(crate) fn stop() -> io::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let cancel = stop.clone();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        cancel.cancel();
    });
    Ok(stop)
}

/// SIGHUP: settings are to be read again.
///
/// # Errors
/// When the process can't be told of signals.
pub(crate) fn hangups() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}

/// Cancels `stop` when standard input ends: who started us and held its other end is gone, however it went.
pub(crate) fn stop_with_stdin(stop: CancellationToken) {
    tokio::spawn(async move {
        let mut stdin = tokio::io::stdin();
        let mut ignored = [0; 64];
        while matches!(stdin.read(&mut ignored).await, Ok(1..)) {}
        stop.cancel();
    });
}
