//! The program and its API, described: completions, man pages and OpenAPI.

pub(super) mod completions;
pub(super) mod man;
pub(super) mod openapi;
