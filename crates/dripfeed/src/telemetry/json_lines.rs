//! Log lines as JSON: time, level, fields and target. The formatter of `tracing-subscriber` leaves out what an error is
//! caused by, which is often all that says what to do.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

pub(super) struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut line = Line::begin(event.metadata().level());
        event.record(&mut line);
        let target = line.end_of_record().unwrap_or_else(|| event.metadata().target().into());
        line.insert("target", target);
        let text = serde_json::to_string(&line).map_err(|_| fmt::Error)?;
        writeln!(writer, "{text}")
    }
}

/// One line, as far as its fields are recorded, in their order.
#[derive(Default)]
struct Line(Vec<(Cow<'static, str>, Value)>);

/// A warning that isn't an event, with one number, as one line without its end.
pub(super) fn warning(message: &str, name: &'static str, number: u64, target: &str) -> String {
    let mut line = Line::begin(&Level::WARN);
    line.insert("message", message);
    line.insert(name, number);
    line.insert("target", target);
    serde_json::to_string(&line).unwrap_or_default()
}

impl Line {
    fn begin(level: &Level) -> Self {
        let mut line = Self::default();
        line.insert("timestamp", format!("{:.6}", Timestamp::now()));
        line.insert("level", level.as_str());
        line
    }

    /// Libraries that log by the crate `log` are all of one target; theirs is a field, beside the path of a source file
    /// on the machine that built it.
    fn end_of_record(&mut self) -> Option<Value> {
        let target = self.0.iter().find(|(name, _)| name == "log.target").map(|(_, target)| target.clone())?;
        self.0.retain(|(name, _)| !name.starts_with("log."));
        Some(target)
    }

    fn insert(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) {
        self.0.push((name.into(), value.into()));
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field.name(), value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field.name(), value);
    }

    /// With its causes, the nearest first, under the name that they have in readable text.
    fn record_error(&mut self, field: &Field, error: &(dyn Error + 'static)) {
        self.insert(field.name(), error.to_string());
        let causes = std::iter::successors(error.source(), |cause| (*cause).source());
        let mut causes: Vec<String> = causes.map(ToString::to_string).collect();
        // Some name their cause as their own words.
        causes.dedup();
        if !causes.is_empty() {
            self.insert(format!("{}.sources", field.name()), causes);
        }
    }
}

#[cfg(test)]
mod tests;
