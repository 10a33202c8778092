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

#[test]
fn contributing_names_the_file_of_each_answer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    let rows = quoted_in_table(&text, "\n## Where is …");
    assert_eq!(rows.len(), 12, "{rows:?}");
    for row in rows {
        let [.., file, name] = row.as_slice() else { panic!("a file and a name: {row:?}") };
        let code = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(code.contains(name.as_str()), "{file} does not define {name}");
    }
}
