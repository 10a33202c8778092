use std::path::PathBuf;

use clap::Parser;

use crate::rows::{PEERS, ROWS, Row};
use crate::volume::{FULL, QUICK, Volume};

const QUICKLY: &str = "quick";
const WITH_PEERS: &str = "peers";

/// Measure dripfeed beside the floor, on one core
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    /// `quick` for shorter windows, `peers` for other queues besides, and names of rows; without a name all rows
    #[arg(value_parser = parse_word)]
    words: Vec<String>,
    /// Write a report, the same as JSON, and charts into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) report: Option<PathBuf>,
}

impl Arguments {
    pub(crate) fn volume(&self) -> &'static Volume {
        if self.has(QUICKLY) { &QUICK } else { &FULL }
    }

    pub(crate) fn with_peers(&self) -> bool {
        self.has(WITH_PEERS)
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &'static Row> {
        let table = if self.with_peers() { PEERS } else { ROWS };
        table.iter().filter(|row| self.wants(row.name))
    }

    fn wants(&self, row: &str) -> bool {
        let mut names = self.words.iter().filter(|word| ![QUICKLY, WITH_PEERS].contains(&word.as_str())).peekable();
        names.peek().is_none() || names.any(|name| name == row)
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|given| given == word)
    }
}

fn parse_word(word: &str) -> Result<String, String> {
    if [QUICKLY, WITH_PEERS].contains(&word) || ROWS.iter().any(|row| row.name == word) {
        return Ok(word.to_owned());
    }
    let names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
    Err(format!("no row has this name: use quick, peers, {}", names.join(", ")))
}
