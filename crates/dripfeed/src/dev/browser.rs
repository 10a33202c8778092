//! Opens the dashboard in a browser.

use std::env;
use std::io::{IsTerminal as _, stderr};
use std::process::{Command, Stdio};

/// Does nothing without a terminal or without a display.
pub(super) fn open(address: &str) {
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some());
    if !has_screen || !stderr().is_terminal() {
        return;
    }
    let mut command = Command::new("xdg-open");
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        tracing::debug!(%error, "could not open a browser");
    }
}
