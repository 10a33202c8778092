//! The executable as its users meet it: exit codes, what is on standard output and what is on standard error.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

/// What is wrong with the configuration ends every role before it listens.
mod certificates;
mod configuration;
/// The API's description, completions and man pages, which need no server.
mod descriptions;
/// Everything on one machine, with real children.
mod dev;
/// All of a list, page by page.
mod export;
/// gRPC beside HTTP.
mod grpc;
/// An intake of a test.
mod intake;
/// API keys, of the configuration and made at run time.
mod keys;
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
/// Files of jobs.
mod push;
/// The README, typed from top to bottom.
mod readme;
/// SIGHUP.
mod reload;
/// Passwords in URLs, and variables that can't be read.
mod secrets;
/// A terminal with a program in it, which is typed at and read.
mod terminal;
/// The buckets in a terminal.
mod top;
