//! Logs to standard error, as text or JSON.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use jiff::Timestamp;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Registry, fmt, reload};

use super::json_lines::{self, JsonLines};
use super::log_sink::LogSink;
use crate::settings::{LogFormat, LogLevel, LogSettings};

/// Changes the level of the running log.
#[derive(Clone, Debug)]
pub(crate) struct Log(reload::Handle<Targets, Registry>);

impl Log {
    /// Starts the log of this process. Only the first one writes.
    pub(crate) fn start(settings: &LogSettings) -> Self {
        let (filter, handle) = reload::Layer::new(settings.level.targets());
        let on_terminal = io::stderr().is_terminal();
        let colours = on_terminal && std::env::var_os("NO_COLOR").is_none();
        let human = match settings.format {
            LogFormat::Auto => on_terminal,
            LogFormat::Human => true,
            LogFormat::Json => false,
        };
        let sink = Arc::new(LogSink::new(io::stderr(), if human { dropped_as_text } else { dropped_as_json }));
        let lines = if human {
            fmt::layer().with_writer(sink).with_ansi(colours).with_target(false).boxed()
        } else {
            fmt::layer().event_format(JsonLines).with_writer(sink).boxed()
        };
        // Fails if there is a log already, as in tests.
        let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
        Self(handle)
    }

    pub(crate) fn set_level(&self, level: &LogLevel) {
        if let Err(error) = self.0.reload(level.targets()) {
            tracing::error!(%error, "could not change the log level");
        }
    }
}

/// The warning about dropped lines.
const DROPPED: &str = "log lines dropped: standard error isn't read, or not fast enough";

fn dropped_as_text(lines: u64) -> String {
    format!("{:.6}  WARN {DROPPED} lines={lines}", Timestamp::now())
}

fn dropped_as_json(lines: u64) -> String {
    json_lines::warning(DROPPED, "lines", lines, module_path!())
}
