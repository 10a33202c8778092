//! The outcome of an experiment, as data.

use std::time::Duration;

use serde::Serialize;

use crate::error::LabError;
use crate::experiment::Experiment;
use crate::results::{ApproachLine, ChartData, Implementation, Results, Row};
use crate::testbed::Testbed;
use crate::time_series;

/// The outcome of an experiment. As JSON: its rows, and the allowed calls per 100 ms and per second.
#[derive(Debug)]
pub struct Outcome {
    experiment: Experiment,
    results: Results,
}

#[derive(Serialize)]
struct OutcomeJson<'o> {
    experiment: &'static str,
    title: &'static str,
    rows: &'o [Row],
    lines: Vec<LineJson>,
}

#[derive(Serialize)]
struct LineJson {
    label: &'static str,
    approach: Implementation,
    calls: u64,
    per_100_ms: Vec<u64>,
    per_s: Vec<u64>,
}

impl Experiment {
    /// Runs the experiment. A figure beyond its bound isn't an error; see [`Outcome::held`].
    ///
    /// # Errors
    /// When it can't be run.
    pub async fn run(self, testbed: &Testbed) -> Result<Outcome, LabError> {
        Ok(Outcome { experiment: self, results: self.find(testbed).await? })
    }
}

impl Outcome {
    pub fn rows(&self) -> &[Row] {
        &self.results.rows
    }

    /// Returns whether every figure of dripfeed's is within its bound.
    pub fn held(&self) -> bool {
        self.results.rows.iter().all(|row| row.held() != Some(false))
    }

    /// Returns the chart as the text of an SVG file.
    ///
    /// # Errors
    /// When it can't be drawn, which is a bug.
    pub fn chart(&self) -> Result<String, LabError> {
        self.results.chart(self.experiment.title)
    }

    /// Records the allowed calls as time series in Redis, a key for each approach. They are not removed.
    ///
    /// # Errors
    /// When Redis refuses them.
    pub async fn record(&self, testbed: &Testbed) -> Result<(), LabError> {
        time_series::record(testbed.store(), testbed.clock(), self.experiment.name, self.lines()).await
    }

    fn lines(&self) -> &[ApproachLine] {
        match &self.results.shown {
            ChartData::Lines { lines, .. } => lines,
            ChartData::Costs { .. } => &[],
        }
    }
}

impl Serialize for Outcome {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let line = |line: &ApproachLine| {
            let per = |bin| line.passes.first().map(|first| line.passes.per(bin, first)).unwrap_or_default();
            LineJson {
                label: line.label,
                approach: line.whose,
                calls: line.passes.count(),
                per_100_ms: per(Duration::from_millis(100)),
                per_s: per(Duration::from_secs(1)),
            }
        };
        let Experiment { name, title, .. } = self.experiment;
        let lines = self.lines().iter().map(line).collect();
        OutcomeJson { experiment: name, title, rows: self.rows(), lines }.serialize(serializer)
    }
}
