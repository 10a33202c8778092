//! The report in its two files, as text and as JSON. A run of single rows replaces them in the report of the same
//! volume, and keeps the others.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use dripfeed_tests::torture::report::{HEAD, Report};
use serde::{Deserialize, Serialize};

use crate::arguments::Arguments;
use crate::rows::{ROWS, Row};

#[derive(Default, Serialize, Deserialize)]
struct Reports {
    volume: String,
    rows: BTreeMap<String, Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    seed: u64,
    report: Report,
}

pub fn write(folder: &Path, arguments: &Arguments, rows: &[&Row], reports: Vec<Report>) -> io::Result<()> {
    let volume = if arguments.long { "long" } else { "short" };
    let json = folder.join("torture-report.json");
    let mut all = read(&json).filter(|there| there.volume == volume).unwrap_or_default();
    volume.clone_into(&mut all.volume);
    for (row, report) in rows.iter().zip(reports) {
        all.rows.insert(row.name.to_owned(), Entry { seed: arguments.seed, report });
    }
    all.rows.retain(|name, _| ROWS.iter().any(|row| row.name == name));
    fs::create_dir_all(folder)?;
    fs::write(folder.join("torture-report.md"), text(&all))?;
    fs::write(json, serde_json::to_string_pretty(&all)?)
}

/// None: there is no report, or it was written by another version.
fn read(file: &Path) -> Option<Reports> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

fn text(all: &Reports) -> String {
    let rows = || ROWS.iter().filter_map(|row| Some((row, all.rows.get(row.name)?)));
    let mut text = format!("# Torture: {} volume\n\n{HEAD}\n", all.volume);
    for (row, Entry { report, .. }) in rows() {
        text += &format!("{}\n", report.line(row.about));
    }
    for (row, Entry { seed, report }) in rows() {
        let verdict = if report.violations.is_empty() { "every invariant holds" } else { "VIOLATED" };
        text += &format!("\n## {}: {verdict}\n\n`{}`, seed {seed}. ", row.about, row.name);
        text += &details(report);
    }
    text
}

fn details(report: &Report) -> String {
    let mut text = String::new();
    if !report.outcomes.is_empty() {
        text += &format!("Outcomes: {:?}. Highest level: {}. ", report.outcomes, report.highest_level);
    }
    for (window, (fullest, most)) in &report.fullest_windows {
        text += &format!("Fullest {window} ms: {fullest} calls of at most {most}. ");
    }
    let mut text = format!("{}\n", text.trim_end());
    // Writing into a String can't fail.
    report.notes.iter().for_each(|(what, count)| _ = writeln!(text, "- {what}: {count}"));
    report.violations.iter().for_each(|violation| _ = writeln!(text, "- {violation}"));
    text
}
