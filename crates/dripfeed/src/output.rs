//! Output of commands: data on standard output, as a table or as JSON; messages on standard error.

pub(crate) mod progress_bar;

use std::io::{self, IsTerminal as _, Write as _};

use clap::ValueEnum;
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use serde::Serialize;
use serde_json::Value as Json;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
}

/// The heading of a column, and the function that returns its cell for an item.
pub(crate) type Column = (&'static str, fn(&Json) -> String);

/// Prints a line. A reader that closes the pipe is no error.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn line(text: impl AsRef<str>) -> io::Result<()> {
    write(format!("{}\n", text.as_ref()))
}

/// Returns a text that others wrote as it is to be printed: on a terminal, control characters are escaped.
pub(crate) fn for_reader(text: String) -> String {
    if io::stdout().is_terminal() { escape_controls(&text) } else { text }
}

/// Prints bytes that others wrote. Text gets a final line break; on a terminal, control characters are escaped.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn raw(bytes: &[u8]) -> io::Result<()> {
    if io::stdout().is_terminal() {
        return line(escape_controls(&String::from_utf8_lossy(bytes)));
    }
    match str::from_utf8(bytes) {
        Ok(text) => line(text),
        Err(_) => write(bytes),
    }
}

fn write(bytes: impl AsRef<[u8]>) -> io::Result<()> {
    flushed(io::stdout().lock().write_all(bytes.as_ref()))
}

/// Flushes standard output after `written`. A reader that closes the pipe is no error.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn flushed(written: io::Result<()>) -> io::Result<()> {
    match written.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| with_context(&error)),
    }
}

fn with_context(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("can't write to standard output: {error}"))
}

/// Prints a message to standard error. In one write, so that lines of child processes can't interrupt it. Ignores
/// errors.
pub(crate) fn say(text: impl std::fmt::Display) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// # Errors
/// When standard output can't be written to.
pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
    line(serde_json::to_string_pretty(value)?)
}

/// Prints items as the rows of a table.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn rows(columns: &[Column], items: &[Json]) -> io::Result<()> {
    let mut table = plain();
    table.set_header(columns.iter().map(|(head, _)| *head));
    for item in items {
        table.add_row(columns.iter().map(|(_, show)| show(item)));
    }
    print(&table)
}

/// A table that is printed page by page, with one heading. Columns never become narrower.
pub(crate) struct RowList<'c> {
    columns: &'c [Column],
    widths: Vec<u16>,
    has_head: bool,
}

impl<'c> RowList<'c> {
    pub(crate) const fn under(columns: &'c [Column]) -> Self {
        Self { columns, widths: Vec::new(), has_head: false }
    }

    /// # Errors
    /// When standard output can't be written to.
    pub(crate) fn print(&mut self, items: &[Json]) -> io::Result<()> {
        print(&self.page(items))
    }

    fn page(&mut self, items: &[Json]) -> Table {
        let mut table = plain();
        if !std::mem::replace(&mut self.has_head, true) {
            table.set_header(self.columns.iter().map(|(head, _)| *head));
        }
        for item in items {
            table.add_row(self.columns.iter().map(|(_, show)| show(item)));
        }
        for (column, width) in table.column_iter_mut().zip(&self.widths) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(*width)));
        }
        let content = table.column_max_content_widths();
        let whole = table.column_iter().zip(content).map(|(column, content)| content + column.padding_width());
        let before = self.widths.iter().copied().chain(std::iter::repeat(0));
        self.widths = whole.zip(before).map(|(now, before)| now.max(before)).collect();
        table
    }
}

/// A JSON array that is printed page by page.
#[derive(Default)]
pub(crate) struct JsonList {
    has_begun: bool,
}

impl JsonList {
    /// # Errors
    /// When standard output can't be written to.
    pub(crate) fn print(&mut self, items: &[Json]) -> io::Result<()> {
        for item in items {
            let separator = if self.has_begun { "," } else { "[" };
            self.has_begun = true;
            let text = serde_json::to_string_pretty(item)?.replace('\n', "\n  ");
            write(format!("{separator}\n  {text}"))?;
        }
        Ok(())
    }

    /// # Errors
    /// When standard output can't be written to.
    pub(crate) fn end(self) -> io::Result<()> {
        line(if self.has_begun { "\n]" } else { "[]" })
    }
}

/// Prints a table of text.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> io::Result<()> {
    let mut table = plain();
    table.set_header(heads.iter().copied());
    table.add_rows(rows);
    print(&table)
}

/// Prints one item, with a line for each column.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn sheet(columns: &[Column], item: &Json) -> io::Result<()> {
    let mut table = plain();
    for (head, show) in columns {
        table.add_row([(*head).to_owned(), show(item)]);
    }
    print(&table)
}

fn plain() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table
}

fn print(table: &Table) -> io::Result<()> {
    table.lines().try_for_each(|text| line(text.trim_end()))
}

/// Formats a member of a JSON document: text without quotes, `-` if absent.
pub(crate) fn shown(item: &Json, pointer: &str) -> String {
    match item.pointer(pointer) {
        None | Some(Json::Null) => "-".to_owned(),
        Some(Json::String(text)) => escape_controls(text),
        Some(Json::Number(n)) if n.is_f64() => format!("{:.1}", n.as_f64().unwrap_or_default()),
        Some(value) => escape_controls(&value.to_string()),
    }
}

/// Escapes control characters except line breaks and tabs, because callers and upstreams write these texts, and a
/// terminal would interpret them.
fn escape_controls(text: &str) -> String {
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let text = text.replace("\r\n", "\n");
    if !text.contains(is_control) {
        return text;
    }
    let escape = |c: char| if is_control(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_that_is_shown() {
        let item =
            serde_json::json!({"body": "a\u{1b}]0;x\u{7}b\r\nc\td\re\u{9b}2J", "list": ["\u{7f}"], "plain": "ü\n"});
        assert_eq!(shown(&item, "/body"), "a\\u{1b}]0;x\\u{7}b\nc\td\\re\\u{9b}2J");
        assert_eq!((shown(&item, "/list"), shown(&item, "/plain")), (r#"["\u{7f}"]"#.to_owned(), "ü\n".to_owned()));
    }

    #[test]
    fn pages_have_one_head_also_where_the_first_are_empty() {
        let mut list = RowList::under(&[("ID", |job| shown(job, "/id"))]);
        let job = serde_json::json!({ "id": "1-0" });
        let pages: [&[Json]; 4] = [&[], &[], std::slice::from_ref(&job), &[]];
        let lines: Vec<String> = pages.iter().flat_map(|page| list.page(page).lines().collect::<Vec<_>>()).collect();
        let lines: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        assert_eq!(lines, ["ID", "1-0"]);
    }
}
