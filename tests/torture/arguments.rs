use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Parser;

/// Faults under load, and every invariant after each
#[derive(Parser, Debug)]
pub struct Arguments {
    /// Only rows whose name has this in it
    filter: Vec<String>,
    /// Only rows whose name is this
    #[arg(long)]
    exact: bool,
    /// The long volume, instead of that of `make test`
    #[arg(long)]
    pub long: bool,
    /// What the jobs, the answers and the faults follow from
    #[arg(long, env = "TORTURE_SEED", default_value_t = by_the_clock())]
    pub seed: u64,
    /// Jobs of each row, instead of its volume
    #[arg(long)]
    pub jobs: Option<u64>,
    /// Faults of each row, instead of its volume
    #[arg(long)]
    pub faults: Option<u32>,
    /// Harnesses at once
    #[arg(long)]
    lanes: Option<usize>,
    /// Write torture-report.md and torture-report.json into this folder
    #[arg(long)]
    pub report: Option<PathBuf>,
    /// Plant one bug after the other, and see that the suite finds it; the executable must have been built with bugs
    #[arg(long)]
    pub selftest: bool,
    /// Print the names of the rows
    #[arg(long)]
    pub list: bool,
    /// As nextest asks: names are listed in this format alone
    #[arg(long, value_parser = ["terse"])]
    format: Option<String>,
    /// As nextest asks: only rows that are ignored otherwise, and no row is
    #[arg(long)]
    ignored: bool,
    /// As other tests have it: what a row says is always shown
    #[arg(long)]
    nocapture: bool,
}

impl Arguments {
    pub fn wants(&self, name: &str) -> bool {
        let is_named = |part: &String| if self.exact { part == name } else { name.contains(part.as_str()) };
        !self.ignored && (self.filter.is_empty() || self.filter.iter().any(is_named))
    }

    /// In the long run most harnesses wait most of the time.
    pub fn lanes(&self) -> usize {
        self.lanes.unwrap_or(if self.long { 8 } else { 5 })
    }
}

fn by_the_clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos())
}
