//! Output of commands: data on standard output, as a table or as JSON; messages on standard error.

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

/// A column: its head, and what stands in it.
pub(crate) type Column = (&'static str, fn(&Json) -> String);

/// A line of data. Who reads it may stop reading: that is no error.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn line(text: impl AsRef<str>) -> io::Result<()> {
    write(format!("{}\n", text.as_ref()))
}

/// Bytes from elsewhere, unchanged if they aren't text. A text ends with a line break, and a terminal obeys nothing in
/// it.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn raw(bytes: &[u8]) -> io::Result<()> {
    if io::stdout().is_terminal() {
        return line(inert(&String::from_utf8_lossy(bytes)));
    }
    match str::from_utf8(bytes) {
        Ok(text) => line(text),
        Err(_) => write(bytes),
    }
}

fn write(bytes: impl AsRef<[u8]>) -> io::Result<()> {
    flushed(io::stdout().lock().write_all(bytes.as_ref()))
}

/// After something was written to standard output by other means.
///
/// # Errors
/// When it couldn't be written.
pub(crate) fn flushed(written: io::Result<()>) -> io::Result<()> {
    match written.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| unwritten(&error)),
    }
}

/// An error of standard output that says what failed.
fn unwritten(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("can't write to standard output: {error}"))
}

/// Talk, on standard error: in one write, so that it isn't torn by what our children say there. Nobody listening is no
/// error.
pub(crate) fn say(text: impl std::fmt::Display) {
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// # Errors
/// When standard output can't be written to.
pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
    line(serde_json::to_string_pretty(value)?)
}

/// Rows under column heads.
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

/// Rows that are printed as they come, the column heads once; a column is as wide as it was before, or wider.
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

/// A JSON array that is printed as its items come.
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

/// Rows of text under their heads.
///
/// # Errors
/// When standard output can't be written to.
pub(crate) fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> io::Result<()> {
    let mut table = plain();
    table.set_header(heads.iter().copied());
    table.add_rows(rows);
    print(&table)
}

/// One thing, a line for each of its columns.
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

/// A member as people read it: text without quotes, `-` for none.
pub(crate) fn shown(item: &Json, pointer: &str) -> String {
    match item.pointer(pointer) {
        None | Some(Json::Null) => "-".to_owned(),
        Some(Json::String(text)) => inert(text),
        Some(Json::Number(n)) if n.is_f64() => format!("{:.1}", n.as_f64().unwrap_or_default()),
        Some(value) => inert(&value.to_string()),
    }
}

/// Callers and upstreams write these texts: a terminal must not obey what they contain besides line breaks and tabs.
fn inert(text: &str) -> String {
    let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let text = text.replace("\r\n", "\n");
    if !text.contains(obeyed) {
        return text;
    }
    let escaped = |c: char| if obeyed(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
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
