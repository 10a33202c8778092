//! The comment at the head of a file of Lua: what it needs, and what a verb is given and answers.

/// The lines of the comment that a text begins with, without their dashes.
fn head(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map_while(|line| line.strip_prefix("--"))
}

pub(super) fn needs(text: &str) -> Vec<&str> {
    let line = head(text).find_map(|line| line.strip_prefix(" needs: "));
    line.map(|names| names.split(", ").collect()).unwrap_or_default()
}

/// The function that opens a fragment, and the fragment.
pub(super) fn opens(text: &str) -> Option<(&str, &str)> {
    head(text).find_map(|line| line.strip_prefix(" opens: "))?.split_once(" = ")
}

/// The lines of a section of the head: `KEYS`, `ARGV` or `Result`; none where it has no such section.
pub(super) fn section<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let mut lines = head(text).skip_while(|line| !line.starts_with(&format!(" {name}  ")));
    let first = lines.next().map(|line| &line[1 + name.len()..]);
    first.into_iter().chain(lines.take_while(|line| line.starts_with("    "))).collect()
}

/// The numbers by which a section names what is given: `1 jobs  2 pace (hash)`; and whether the last one stands for
/// many: `3…`.
pub(super) fn numbered(section: &[&str]) -> (Vec<usize>, bool) {
    let (mut numbers, mut many) = (Vec::new(), false);
    for item in section.iter().flat_map(|line| line.split("  ")) {
        let Some((number, _)) = item.trim_start().split_once(' ') else { continue };
        if let Ok(number) = number.trim_end_matches('…').parse() {
            numbers.push(number);
        }
        many |= number.ends_with('…');
    }
    (numbers, many)
}

/// The places of `KEYS` or `ARGV` that a text reads by their numbers.
pub(super) fn read_by_number(text: &str, table: &str) -> Vec<usize> {
    let code = text.lines().map(|line| line.split("--").next().unwrap_or_default());
    let read = code.flat_map(|line| line.split(&format!("{table}[")).skip(1).collect::<Vec<_>>());
    read.filter_map(|rest| rest.split_once(']')?.0.parse().ok()).collect()
}
