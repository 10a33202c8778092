//! Measured figures: medians with their spread, and whether they meet their goals.

use std::fmt;

use serde::Serialize;

use crate::goals::{Bound, Goal};

/// A quantity, measured repeatedly.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<f64>);

#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) lowest: f64,
    pub(crate) highest: f64,
}

impl Samples {
    pub(crate) fn push(&mut self, sample: f64) {
        self.0.push(sample);
    }

    /// The minimum for 0, the median for 0.5, the maximum for 1.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        // Interpolated between two samples.
        let position = share * count(last);
        let below = (0..=last).rev().find(|index| count(*index) <= position).unwrap_or(0);
        let at = |index: usize| sorted.get(index.min(last)).copied().unwrap_or(f64::NAN);
        at(below) + (at(below + 1) - at(below)) * (position - count(below))
    }

    pub(crate) fn spread(&self) -> Spread {
        Spread { median: self.quantile(0.5), lowest: self.quantile(0.0), highest: self.quantile(1.0) }
    }
}

/// Converts a count to a float.
pub(crate) fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}

#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) goal: &'static Goal,
    pub(crate) ours: Spread,
    pub(crate) base: Option<Spread>,
}

impl Figure {
    /// A figure that is itself compared with its bound.
    pub(crate) fn alone(name: &str, ours: &Samples) -> anyhow::Result<Self> {
        Ok(Self { goal: Goal::of(name)?, ours: ours.spread(), base: None })
    }

    /// A figure whose ratio to another one is compared with its bound.
    pub(crate) fn against(name: &str, ours: &Samples, base: &Samples) -> anyhow::Result<Self> {
        Ok(Self { goal: Goal::of(name)?, ours: ours.spread(), base: Some(base.spread()) })
    }

    pub(crate) fn value(&self) -> f64 {
        self.base.map_or(self.ours.median, |base| self.ours.median / base.median)
    }

    /// Whether it meets its goal; `None` without one.
    pub(crate) fn met(&self) -> Option<bool> {
        let value = self.value();
        match self.goal.bound {
            Bound::AtLeast(least) => Some(value >= least),
            Bound::AtMost(most) => Some(value <= most),
            Bound::Between(least, most) => Some((least..=most).contains(&value)),
            Bound::None => None,
        }
    }

    pub(crate) fn verdict(&self) -> &'static str {
        match self.met() {
            Some(true) => "met",
            Some(false) => "short",
            None => "",
        }
    }

    /// The goal, as text.
    pub(crate) fn bound(&self) -> String {
        match self.goal.bound {
            Bound::AtLeast(least) => format!("≥ {least}"),
            Bound::AtMost(most) => format!("≤ {most}"),
            Bound::Between(0.0, most) => format!("≤ {most}"),
            Bound::Between(least, most) => format!("{least} to {most}"),
            Bound::None => String::new(),
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { goal, ours, .. } = self;
        write!(f, "{}: {ours} {}", goal.what, goal.unit)?;
        if let Some(base) = self.base {
            write!(f, ", {} {base}, ratio {:.3}", goal.base, self.value())?;
        }
        if self.met().is_some() {
            write!(f, " ({}: {})", self.bound(), self.verdict())?;
        }
        Ok(())
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median, lowest, highest } = *self;
        let digits = if median.abs() >= 1000.0 { 0 } else { 2 };
        write!(f, "{median:.digits$} [{lowest:.digits$} – {highest:.digits$}]")
    }
}
