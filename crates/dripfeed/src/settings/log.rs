//! `[log]`

use serde::{Deserialize, Deserializer};
use tracing_subscriber::filter::Targets;

use super::deserialize;
use super::read::Reader;

#[derive(Clone, Debug)]
pub(crate) struct LogSettings {
    pub(crate) level: LogLevel,
    pub(crate) format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// `Human` on a terminal, `Json` otherwise.
    Auto,
    Human,
    Json,
}

/// A level for all, or levels by module: `info,dripfeed_bucket=debug`. Boxed, because futures contain the settings.
#[derive(Clone, Debug)]
pub(crate) struct LogLevel(Box<Targets>);

impl LogLevel {
    pub(crate) fn targets(&self) -> Targets {
        Targets::clone(&self.0)
    }
}

impl std::str::FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            let shown = text.escape_debug();
            format!(
                "`{shown}` is not a log level: use error, warn, info, debug or trace, or info,dripfeed_bucket=debug"
            )
        };
        let levels = ["error", "warn", "info", "debug", "trace", "off"];
        // `tracing` would parse an unknown word or a filter by span as a module's name, and silence all other modules.
        let known =
            |directive: &&str| levels.contains(directive) || directive.contains('=') && !directive.contains('[');
        let directives: Vec<_> = text.split(',').map(str::trim).collect();
        if !directives.iter().all(known) {
            return Err(bad());
        }
        directives.join(",").parse().map(|targets| Self(Box::new(targets))).map_err(|_| bad())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct Section {
    #[serde(deserialize_with = "level")]
    level: LogLevel,
    format: LogFormat,
}

fn level<'de, D: Deserializer<'de>>(from: D) -> Result<LogLevel, D::Error> {
    deserialize::parsed(from, "a level in quotes: error, warn, info, debug or trace")
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<LogSettings> {
    let Section { level, format } = reader.section("log")?;
    Some(LogSettings { level, format })
}
