//! The terminal: taken over while the view is open, and restored however it ends.

use std::io;

use ratatui::DefaultTerminal;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::layout::Rect;
use tokio::sync::mpsc;

/// Keys that were typed faster than they are read.
const MOST_KEYS: usize = 64;

pub(super) struct Screen(DefaultTerminal);

/// What comes from the terminal.
pub(super) enum Input {
    Key(KeyEvent),
    /// Anything that takes another drawing, such as a new size.
    Other,
}

impl Screen {
    /// Also restored when the program panics: the library's hook does that.
    ///
    /// # Errors
    /// When the terminal can't be taken.
    pub(super) fn open() -> io::Result<Self> {
        match ratatui::try_init() {
            Ok(terminal) => Ok(Self(terminal)),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// # Errors
    /// When the terminal can't be written to.
    pub(super) fn draw(&mut self, draw: impl FnOnce(Rect, &mut Buffer)) -> io::Result<()> {
        self.0.draw(|frame| draw(frame.area(), frame.buffer_mut())).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// A terminal that is gone can't be restored, and needn't.
fn restore() {
    let _ = ratatui::try_restore();
}

/// What is typed, until the terminal ends. Read on a thread, which blocks; it doesn't keep the process.
pub(super) fn inputs() -> mpsc::Receiver<Input> {
    let (typed, inputs) = mpsc::channel(MOST_KEYS);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            let input = match event {
                Event::Key(key) if key.kind == KeyEventKind::Release => continue,
                Event::Key(key) => Input::Key(key),
                _ => Input::Other,
            };
            if typed.blocking_send(input).is_err() {
                return;
            }
        }
    });
    inputs
}
