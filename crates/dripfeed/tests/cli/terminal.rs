use std::cell::RefCell;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::Pid;
use vt100::Parser;

/// Nothing that is waited for takes longer.
const PATIENCE: Duration = Duration::from_secs(60);
const LINES: u16 = 24;
const COLUMNS: u16 = 80;

/// A terminal of 80 columns and 24 lines, in which a command runs; killed when a test gives up on it.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    /// The side of the command, which shows its settings.
    inside: OwnedFd,
    written: Receiver<Vec<u8>>,
    screen: RefCell<Parser>,
}

/// How a command left its terminal.
#[derive(Debug, PartialEq)]
pub(crate) struct Left {
    pub(crate) code: Option<i32>,
    /// And echoes what is typed.
    pub(crate) edits_lines: bool,
}

impl Terminal {
    pub(crate) fn start(command: &mut Command) -> Self {
        let size = Winsize { ws_row: LINES, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        let OpenptyResult { master, slave } = openpty(Some(&size), None).unwrap();
        let inside = || Stdio::from(slave.try_clone().unwrap());
        command.env("TERM", "xterm-256color").stdin(inside()).stdout(inside()).stderr(inside());
        let child = command.spawn().unwrap();
        let mut outside = File::from(master.try_clone().unwrap());
        let (tell, written) = channel();
        std::thread::spawn(move || {
            let mut read = [0; 4096];
            while let Ok(bytes @ 1..) = outside.read(&mut read) {
                if tell.send(read[..bytes].to_vec()).is_err() {
                    return;
                }
            }
        });
        let screen = RefCell::new(Parser::new(LINES, COLUMNS, 0));
        Self { child, keyboard: File::from(master), inside: slave, written, screen }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Returns when the screen shows `text`.
    pub(crate) fn shows(&self, text: &str) {
        let mut screen = self.screen.borrow_mut();
        while !screen.screen().contents().contains(text) {
            match self.written.recv_timeout(PATIENCE) {
                Ok(bytes) => screen.process(&bytes),
                Err(error) => unreachable!("waiting for `{text}` ({error}):\n{}", screen.screen().contents()),
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// Waits for the end of the command, and for the former screen and its cursor to be back.
    pub(crate) fn left(mut self) -> Left {
        let code = self.child.wait().unwrap().code();
        let mut screen = self.screen.borrow_mut();
        // What it wrote last may come in parts.
        while screen.screen().alternate_screen() || screen.screen().hide_cursor() {
            screen.process(&self.written.recv_timeout(PATIENCE).unwrap());
        }
        let lines = tcgetattr(&self.inside).unwrap().local_flags;
        Left { code, edits_lines: lines.contains(LocalFlags::ICANON | LocalFlags::ECHO) }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Fails when it has ended, as it should have.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
