//! What a process reports of its work: logs, and traces. Its metrics are those of the roles.

mod log;
#[cfg(feature = "otlp")]
mod otlp;
mod traces;

pub(crate) use self::log::Log;
pub(crate) use self::traces::Traces;
