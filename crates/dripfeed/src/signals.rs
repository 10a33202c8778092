//! Signals of the operating system.

use std::io;

use tokio::io::AsyncReadExt as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::background;

/// Returns a token that SIGTERM or Ctrl-C cancels.
///
/// # Errors
/// When signals can't be received.
pub(crate) fn stop() -> io::Result<CancellationToken> {
    stop_at(&[SignalKind::terminate(), SignalKind::interrupt()])
}

/// Returns a token that SIGTERM, Ctrl-C, or the end of the terminal cancels.
///
/// # Errors
/// When signals can't be received.
pub(crate) fn stop_with_terminal() -> io::Result<CancellationToken> {
    stop_at(&[SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()])
}

fn stop_at(kinds: &[SignalKind]) -> io::Result<CancellationToken> {
    let stop = CancellationToken::new();
    for kind in kinds {
        let mut received = signal(*kind)?;
        let stop = stop.clone();
        background::spawn(async move {
            received.recv().await;
            stop.cancel();
        });
    }
    Ok(stop)
}

/// Returns the stream of SIGHUP, which reloads the settings.
///
/// # Errors
/// When signals can't be received.
pub(crate) fn hangups() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}

/// Cancels `stop` at the end of standard input: the parent process, which has the other end of the pipe, has ended.
pub(crate) async fn stop_with_stdin(stop: CancellationToken) {
    let mut stdin = tokio::io::stdin();
    let mut ignored = [0; 64];
    while matches!(stdin.read(&mut ignored).await, Ok(1..)) {}
    stop.cancel();
}
