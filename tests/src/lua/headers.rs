//! Parses the comment at the head of a Lua file: its needs, and the KEYS, ARGV and result of a verb.

/// The lines of the comment at the start of a text, without dashes.
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

/// The lines of a section of the head: `KEYS`, `ARGV` or `Result`. Empty without this section.
pub(super) fn section<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let mut lines = head(text).skip_while(|line| !line.starts_with(&format!(" {name}  ")));
    let first = lines.next().map(|line| &line[1 + name.len()..]);
    first.into_iter().chain(lines.take_while(|line| line.starts_with("    "))).collect()
}

/// The numbers in a section, as in `1 jobs  2 pace (hash)`; and whether the last one is repeated, as in `3…`.
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

/// The indices of `KEYS` or `ARGV` that a text reads by number.
pub(super) fn read_by_number(text: &str, table: &str) -> Vec<usize> {
    let code = text.lines().map(|line| line.split("--").next().unwrap_or_default());
    let read = code.flat_map(|line| line.split(&format!("{table}[")).skip(1).collect::<Vec<_>>());
    read.filter_map(|rest| rest.split_once(']')?.0.parse().ok()).collect()
}
