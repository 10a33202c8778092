//! The report of a run: a table, the same as JSON, and charts.

mod chart;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::figure::{Figure, Spread};
use crate::machine::Conditions;
use crate::side::sha256;
use crate::suite::Suite;

/// A change of the floor changes every ratio, so the report identifies it.
const FLOOR: &str =
    concat!(include_str!("floor/main.rs"), include_str!("floor/intake.rs"), include_str!("floor/processor.rs"));

pub(crate) struct Report {
    pub(crate) suite: Suite,
    pub(crate) conditions: Conditions,
    /// The disturbance by other processes.
    pub(crate) disturbance: String,
    pub(crate) redis: String,
    /// The versions of the peers, if they were measured.
    pub(crate) peers: Option<String>,
    pub(crate) volume: &'static str,
    pub(crate) figures: Vec<Figure>,
}

impl Report {
    /// The table in Markdown, aligned for a terminal.
    pub(crate) fn table(&self) -> String {
        let head = ["", "measured", "compared with", "value", "goal", ""].map(str::to_owned);
        let rows: Vec<[String; 6]> = std::iter::once(head).chain(self.figures.iter().map(cells)).collect();
        let wide = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 6] = std::array::from_fn(wide);
        let mut table = String::new();
        for (number, row) in rows.iter().enumerate() {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("| {cell:width$} "));
            table += &format!("{}|\n", cells.collect::<String>());
            if number == 0 {
                let rules = widths.map(|width| format!("|{}", "-".repeat(width + 2)));
                table += &format!("{}|\n", rules.concat());
            }
        }
        table
    }

    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder)?;
        let before = self.suite.prefix();
        fs::write(folder.join(format!("{before}report.md")), self.text())?;
        fs::write(folder.join(format!("{before}report.json")), serde_json::to_string_pretty(&self.json())? + "\n")?;
        fs::write(folder.join(format!("{before}goals.svg")), chart::goals(&self.figures)?)?;
        fs::write(folder.join(format!("{before}rates.svg")), chart::rates(&self.figures)?)?;
        Ok(())
    }

    fn text(&self) -> String {
        let short = self.figures.iter().filter(|figure| figure.met() == Some(false)).count();
        let goals = self.figures.iter().filter(|figure| figure.met().is_some()).count();
        let peers = self.peers.as_ref().map_or(String::new(), |versions| format!(" Beside them {versions}."));
        let before = self.suite.prefix();
        let fsync = if self.suite == Suite::Floor { " but in the row `fsync`" } else { "" };
        format!(
            "# {}: {} volume\n\n{}. Redis {}, without persistence{fsync}.{peers} In this run {}.\n\n\
             Redis, intake and processor share one core; load and upstream have the other one. 64 connections, 200 \
             calls in flight, bodies of 256 B. Each figure is a median, with its lowest and highest value; all sides \
             took turns in one run. The floor is the program in `tests/bench/src/floor`, SHA-256 `{}`.\n\n\
             {} of {goals} goals are met.\n\n{}\n![]({before}goals.svg)\n\n![]({before}rates.svg)\n",
            self.suite.title(),
            self.volume,
            self.conditions,
            self.redis,
            self.disturbance,
            sha256(FLOOR),
            goals - short,
            self.table(),
        )
    }

    fn json(&self) -> Value {
        let figure = |figure: &Figure| {
            json!({
                "figure": figure.goal.figure, "what": figure.goal.what, "unit": figure.goal.unit,
                "measured": figure.ours, "compared_with": figure.goal.base, "base": figure.base,
                "value": figure.value(), "goal": figure.bound(), "met": figure.met(),
            })
        };
        json!({
            "volume": self.volume, "conditions": self.conditions, "disturbance": self.disturbance, "redis": self.redis,
            "peers": self.peers,
            "floor_sha256": sha256(FLOOR),
            "figures": self.figures.iter().map(figure).collect::<Vec<_>>(),
        })
    }
}

fn cells(figure: &Figure) -> [String; 6] {
    let unit = figure.goal.unit;
    let shown = |spread: Spread| format!("{spread} {unit}").trim_end().to_owned();
    let base = figure.base.map_or(String::new(), |base| format!("{} {}", figure.goal.base, shown(base)));
    let value = figure.base.map_or(String::new(), |_| format!("{:.3}", figure.value()));
    [figure.goal.what.to_owned(), shown(figure.ours), base, value, figure.bound(), figure.verdict().to_owned()]
}
