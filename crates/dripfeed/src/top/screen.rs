//! The terminal, which the view takes over. It is restored at the end, also after a panic.

use std::io::{self, BufWriter, Stdout, Write};
use std::panic;

use anstyle::Reset;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{execute, queue};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Style};
use tokio::sync::mpsc;

/// The most terminal events that wait to be processed.
const MOST_KEYS: usize = 64;

pub(super) struct Screen {
    terminal: BufWriter<Stdout>,
    shown: Buffer,
}

/// What comes from the terminal.
pub(super) enum Input {
    Key(KeyEvent),
    /// Another event, such as a new size. The screen is drawn again after each input.
    Other,
}

impl Screen {
    /// Takes over the terminal, and restores it when the program panics.
    ///
    /// # Errors
    /// When the terminal can't be taken over.
    pub(super) fn open() -> io::Result<Self> {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            report(info);
        }));
        let mut screen = Self { terminal: BufWriter::new(io::stdout()), shown: Buffer::default() };
        terminal::enable_raw_mode()?;
        execute!(screen.terminal, EnterAlternateScreen, Hide)?;
        Ok(screen)
    }

    /// Writes the cells that differ from those shown.
    ///
    /// # Errors
    /// When the terminal can't be written to.
    pub(super) fn draw(&mut self, draw: impl FnOnce(Rect, &mut Buffer)) -> io::Result<()> {
        let (width, height) = terminal::size()?;
        let area = Rect::new(0, 0, width, height);
        let mut next = Buffer::empty(area);
        draw(area, &mut next);
        if self.shown.area != area {
            queue!(self.terminal, Clear(ClearType::All))?;
            self.shown = Buffer::empty(area);
        }
        let mut style = Cell::EMPTY.style();
        let mut cursor = None;
        for (x, y, cell) in self.shown.diff_iter(&next) {
            if cursor != Some((x, y)) {
                queue!(self.terminal, MoveTo(x, y))?;
            }
            if cell.style() != style {
                style = cell.style();
                write!(self.terminal, "{Reset}{}", escape_codes(style))?;
            }
            self.terminal.write_all(cell.symbol().as_bytes())?;
            cursor = Some((x + 1, y));
        }
        write!(self.terminal, "{Reset}")?;
        self.terminal.flush()?;
        self.shown = next;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Leaves out `Color::Reset`, the default color of the terminal, which `anstyle` doesn't have.
fn escape_codes(style: Style) -> anstyle::Style {
    let chosen = |color: Option<Color>| color.filter(|color| *color != Color::Reset);
    Style { fg: chosen(style.fg), bg: chosen(style.bg), ..style }.into()
}

/// Errors are ignored: a closed terminal can't be restored.
fn restore() {
    let _ = terminal::disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
}

/// Receives terminal events until the terminal is closed. A detached thread reads them, because reading blocks.
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
