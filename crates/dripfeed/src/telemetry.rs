//! Logs and traces of a process. Metrics are in the roles.

mod json_lines;
mod log;
mod log_sink;
#[cfg(feature = "otlp")]
mod otlp;
mod traces;

pub(crate) use self::log::Log;
pub(crate) use self::traces::Traces;
