use std::path::PathBuf;

use clap::Parser;

use crate::rows::Row;
use crate::suite::Suite;
use crate::volume::{FULL, QUICK, Volume};

const QUICKLY: &str = "quick";

/// Measure dripfeed beside the floor, on one core
#[derive(Parser, Debug)]
pub(crate) struct Arguments {
    /// `quick` for shorter windows; `peers` for other queues, or `growth` for many callers, buckets and schedules; and
    /// names of rows, without which all are measured
    words: Vec<String>,
    /// Write a report, the same as JSON, and charts into this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) report: Option<PathBuf>,
}

impl Arguments {
    pub(crate) fn volume(&self) -> &'static Volume {
        if self.has(QUICKLY) { &QUICK } else { &FULL }
    }

    pub(crate) fn suite(&self) -> Suite {
        let suite = Suite::ALL.into_iter().find(|suite| suite.word().is_some_and(|word| self.has(word)));
        suite.unwrap_or(Suite::Floor)
    }

    /// # Errors
    /// When a word names no row of the suite.
    pub(crate) fn rows(&self) -> anyhow::Result<Vec<&'static Row>> {
        let (suite, rows) = (self.suite(), self.suite().rows());
        let names: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let names: Vec<&str> =
            names.into_iter().filter(|name| *name != QUICKLY && Some(*name) != suite.word()).collect();
        if let Some(unknown) = names.iter().find(|name| rows.iter().all(|row| row.name != **name)) {
            let all: Vec<&str> = rows.iter().map(|row| row.name).collect();
            anyhow::bail!("no row has the name {unknown}: use quick, {}", all.join(", "));
        }
        Ok(rows.iter().filter(|row| names.is_empty() || names.contains(&row.name)).collect())
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|given| given == word)
    }
}
