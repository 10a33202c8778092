//! The executable as its users meet it: exit codes, what is on standard output and what is on standard error.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

/// What is wrong with the configuration ends every role before it listens.
mod configuration;
/// Everything on one machine, with real children.
mod dev;
/// gRPC beside HTTP.
mod grpc;
/// An intake of a test.
mod intake;
/// The experiments with limiters.
mod lab;
/// What a role says, and in which form.
mod logs;
/// Load on a running intake, and the report of it.
mod measure;
/// The operator's commands against a running intake, and against none.
mod operate;
/// Starting the executable and reading what it says.
mod program;
/// The README, typed from top to bottom.
mod readme;
/// SIGHUP.
mod reload;
/// A terminal with a program in it, which is typed at and read.
mod terminal;
/// The buckets in a terminal.
mod top;
