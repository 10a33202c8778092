//! Keys created over the API: `/v1/keys`, and their audit log.

pub(crate) mod audit;
mod change;
pub(crate) mod delete;
pub(crate) mod document;
pub(crate) mod list;
pub(crate) mod put;
pub(crate) mod shown;
