use std::path::PathBuf;

use clap::Parser;

use crate::rows::ROWS;
use crate::volume::{FULL, QUICK, Volume};

const QUICKLY: &str = "quick";

/// Measure dripfeed beside the floor, on one core
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    /// `quick` for shorter windows, and names of rows; without a name all rows
    #[arg(value_parser = parse_word)]
    words: Vec<String>,
    /// Write report.md, report.json and charts into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) report: Option<PathBuf>,
}

impl Arguments {
    pub(crate) fn volume(&self) -> &'static Volume {
        if self.words.iter().any(|word| word == QUICKLY) { &QUICK } else { &FULL }
    }

    pub(crate) fn wants(&self, row: &str) -> bool {
        let mut names = self.words.iter().filter(|word| *word != QUICKLY).peekable();
        names.peek().is_none() || names.any(|name| name == row)
    }
}

fn parse_word(word: &str) -> Result<String, String> {
    if word == QUICKLY || ROWS.iter().any(|row| row.name == word) {
        return Ok(word.to_owned());
    }
    let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
    Err(format!("no row has this name: use quick, {}", names.join(", ")))
}
