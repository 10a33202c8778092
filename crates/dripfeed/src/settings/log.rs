//! `[log]`

use serde::Deserialize;
use tracing_subscriber::EnvFilter;

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
    /// Human on a terminal, JSON otherwise.
    Auto,
    Human,
    Json,
}

/// A level for all, or levels by module: `info,dripfeed_bucket=debug`.
#[derive(Clone, Debug)]
pub(crate) struct LogLevel(String);

impl LogLevel {
    pub(crate) fn filter(&self) -> EnvFilter {
        EnvFilter::new(&self.0)
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
        // The filter takes any bare word for the name of a module, so that a slip of the pen would silence all others.
        let known = |directive: &str| directive.contains('=') || levels.contains(&directive.trim());
        if text.split(',').all(known) && EnvFilter::try_new(text).is_ok() {
            Ok(Self(text.to_owned()))
        } else {
            Err(bad())
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
struct Section {
    #[serde(deserialize_with = "deserialize::parsed")]
    level: LogLevel,
    format: LogFormat,
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<LogSettings> {
    let Section { level, format } = reader.section("log")?;
    Some(LogSettings { level, format })
}
