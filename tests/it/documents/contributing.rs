//! What the documents say of the code, compared with the code.

use std::fs;
use std::path::Path;

/// The rows of the table below `heading`: the texts between backquotes, those of a row together.
fn quoted_in_table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let section = text.split(heading).nth(1).unwrap_or_else(|| panic!("no section {heading}"));
    let section = section.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| …"));
    rows.map(|row| row.split('`').skip(1).step_by(2).map(str::to_owned).collect()).collect()
}

/// Whether a name is defined in the code; of any other text, whether it is in a line that is no comment.
fn is_there(name: &str, code: &str) -> bool {
    const KEYWORDS: [&str; 9] = ["fn", "struct", "enum", "trait", "type", "const", "static", "function", "local"];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let comments = ["//", "--", "#"];
    code.lines().map(str::trim_start).filter(|line| !comments.iter().any(|comment| line.starts_with(comment))).any(
        |line| {
            if !name.chars().all(is_word) {
                return line.contains(name);
            }
            let words: Vec<&str> = line.split(|c| !is_word(c)).collect();
            words.windows(2).any(|two| KEYWORDS.contains(&two[0]) && two[1] == name)
        },
    )
}

#[test]
fn a_use_is_no_definition() {
    assert!(is_there("room", "    pub(crate) const fn room(&self) {"));
    assert!(is_there("room", "local function room(size)"));
    for use_of_it in ["// The fn room is elsewhere.", "let room = room();", "const fn rooms() {}", "if room(size) then"]
    {
        assert!(!is_there("room", use_of_it), "{use_of_it}");
    }
    assert!(is_there("capacity = 1000", "capacity = 1000"));
    assert!(!is_there("capacity = 1000", "# capacity = 1000"));
}

#[test]
fn contributing_names_the_file_of_each_answer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    let rows = quoted_in_table(&text, "\n## Where is …");
    assert_eq!(rows.len(), 12, "{rows:?}");
    for row in rows {
        let [.., file, name] = row.as_slice() else { panic!("a file and a name: {row:?}") };
        let code = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(is_there(name, &code), "{file} does not define {name}");
    }
}
