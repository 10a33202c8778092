//! Commands that describe the program and its API: completions, man pages and OpenAPI.

pub(super) mod completions;
pub(super) mod man;
pub(super) mod openapi;
