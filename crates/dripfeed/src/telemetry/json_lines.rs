//! Formats log lines as JSON: time, level, fields and target. The formatter of `tracing-subscriber` omits the causes of
//! errors, which often are what says what to do.

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
        let target = line.take_log_target().unwrap_or_else(|| event.metadata().target().into());
        line.insert("target", target);
        let text = serde_json::to_string(&line).map_err(|_| fmt::Error)?;
        writeln!(writer, "{text}")
    }
}

/// The fields of a line that are recorded so far, in their order.
#[derive(Default)]
struct Line(Vec<(Cow<'static, str>, Value)>);

/// Formats a warning with one number that isn't an event, without a line break.
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

    /// Records of the crate `log` all have the same target; the real one is in a field. Returns it, and removes the
    /// fields of `log`, which show paths of the machine that built the program.
    fn take_log_target(&mut self) -> Option<Value> {
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

    /// Adds the causes in `NAME.sources`, as in the text format, the nearest first.
    fn record_error(&mut self, field: &Field, error: &(dyn Error + 'static)) {
        self.insert(field.name(), error.to_string());
        let causes = std::iter::successors(error.source(), |cause| (*cause).source());
        let mut causes: Vec<String> = causes.map(ToString::to_string).collect();
        // Some errors have the text of their cause.
        causes.dedup();
        if !causes.is_empty() {
            self.insert(format!("{}.sources", field.name()), causes);
        }
    }
}

#[cfg(test)]
mod tests;
