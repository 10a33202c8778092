//! Commands that measure a running installation, or show its measurements.

pub(crate) mod bench;
mod chart_file;
pub(crate) mod history;
pub(crate) mod lab;
pub(crate) mod report;
mod window;
