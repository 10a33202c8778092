//! The results of an experiment: rows of a table, and the data of its chart.

use std::time::Duration;

use serde::Serialize;
use serde::ser::{SerializeMap as _, SerializeStruct as _, Serializer};

use crate::call_log::PassedCalls;

/// The results of one experiment.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) rows: Vec<Row>,
    pub(crate) shown: ChartData,
}

/// The data of a chart.
#[derive(Debug)]
pub(crate) enum ChartData {
    /// Allowed calls over time, for at least `load`.
    Lines { lines: Vec<ApproachLine>, load: Duration },
    /// Costs, beside their bounds.
    Costs { unit: &'static str, rows: Vec<Row> },
}

/// An approach, and the calls that it allowed.
#[derive(Debug)]
pub(crate) struct ApproachLine {
    pub(crate) label: &'static str,
    pub(crate) whose: Implementation,
    /// The published result.
    pub(crate) published: Option<&'static str>,
    pub(crate) passes: PassedCalls,
    /// The long-term rate of the limit, in calls a second.
    pub(crate) allowed_per_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Implementation {
    /// The published approach, as repeated here.
    Published,
    Ours,
}

/// A figure: the published one, that of the published approach as repeated here, and that of dripfeed.
#[derive(Clone, Debug)]
pub struct Row {
    what: String,
    published: Option<f64>,
    replayed: Option<f64>,
    ours: f64,
    bound: Bound,
}

/// The bound of dripfeed's figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// No bound: the figure is only for comparison.
    None,
    AtMost(f64),
    AtLeast(f64),
    Exactly(f64),
}

impl Row {
    pub(crate) fn new(what: impl Into<String>, ours: impl Figure) -> Self {
        Self { what: what.into(), published: None, replayed: None, ours: ours.figure(), bound: Bound::None }
    }

    pub(crate) fn published(self, figure: impl Figure) -> Self {
        Self { published: Some(figure.figure()), ..self }
    }

    pub(crate) fn replayed(self, figure: impl Figure) -> Self {
        Self { replayed: Some(figure.figure()), ..self }
    }

    pub(crate) fn at_most(self, bound: impl Figure) -> Self {
        Self { bound: Bound::AtMost(bound.figure()), ..self }
    }

    pub(crate) fn at_least(self, bound: impl Figure) -> Self {
        Self { bound: Bound::AtLeast(bound.figure()), ..self }
    }

    pub(crate) fn exactly(self, bound: impl Figure) -> Self {
        Self { bound: Bound::Exactly(bound.figure()), ..self }
    }

    /// Returns whether dripfeed's figure is within its bound, or `None` without a bound.
    pub fn held(&self) -> Option<bool> {
        match self.bound {
            Bound::None => None,
            Bound::AtMost(bound) => Some(self.ours <= bound),
            Bound::AtLeast(bound) => Some(self.ours >= bound),
            Bound::Exactly(bound) => Some((self.ours - bound).abs() < 0.005),
        }
    }

    /// Returns the cells of a table: what, published, the published approach here, ours, bound, whether it was kept.
    pub fn cells(&self) -> [String; 6] {
        let figure = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), shown);
        let bound = match self.bound {
            Bound::None => "-".to_owned(),
            Bound::AtMost(bound) => format!("≤ {}", shown(bound)),
            Bound::AtLeast(bound) => format!("≥ {}", shown(bound)),
            Bound::Exactly(bound) => format!("= {}", shown(bound)),
        };
        let held = match self.held() {
            None => "-",
            Some(true) => "yes",
            Some(false) => "NO",
        };
        [self.what.clone(), figure(self.published), figure(self.replayed), shown(self.ours), bound, held.to_owned()]
    }

    pub(crate) fn ours(&self) -> f64 {
        self.ours
    }

    pub(crate) fn bound(&self) -> Bound {
        self.bound
    }
}

/// Formats a figure without insignificant digits.
fn shown(figure: f64) -> String {
    if figure.fract() == 0.0 || figure.abs() >= 1000.0 {
        format!("{figure:.0}")
    } else if figure.abs() >= 10.0 {
        format!("{figure:.1}")
    } else {
        format!("{figure:.2}")
    }
}

/// A type that can be a figure.
pub(crate) trait Figure {
    fn figure(self) -> f64;
}

impl Figure for f64 {
    fn figure(self) -> f64 {
        self
    }
}

impl Figure for u64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of a few seconds are far below 2^53")]
    fn figure(self) -> f64 {
        self as f64
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Row", 6)?;
        row.serialize_field("what", &self.what)?;
        row.serialize_field("published", &self.published)?;
        row.serialize_field("published_approach_here", &self.replayed)?;
        row.serialize_field("ours", &self.ours)?;
        row.serialize_field("bound", &self.bound)?;
        row.serialize_field("held", &self.held())?;
        row.end()
    }
}

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (name, bound) = match self {
            Self::None => return serializer.serialize_none(),
            Self::AtMost(bound) => ("at_most", bound),
            Self::AtLeast(bound) => ("at_least", bound),
            Self::Exactly(bound) => ("exactly", bound),
        };
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(name, bound)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_whether_it_held() {
        let row = || Row::new("calls", 4000_u64).published(4081_u64);
        assert_eq!(row().held(), None);
        assert_eq!(row().at_most(4000_u64).held(), Some(true));
        assert_eq!(row().at_most(3999_u64).held(), Some(false));
        assert_eq!(row().at_least(4001_u64).held(), Some(false));
        assert_eq!(row().exactly(4000_u64).held(), Some(true));
    }

    #[test]
    fn figures_are_shown_without_digits_that_mean_nothing() {
        let row = Row::new("share", 99.123).published(65_u64).replayed(0.123456).at_least(99.0);
        assert_eq!(row.cells(), ["share", "65", "0.12", "99.1", "≥ 99", "yes"]);
        assert_eq!(Row::new("calls", 4081.4).cells(), ["calls", "-", "-", "4081", "-", "-"]);
    }
}
