//! Keys that are made at run time: `/v1/keys`, and who made them.

pub(crate) mod audit;
mod change;
pub(crate) mod delete;
pub(crate) mod document;
pub(crate) mod list;
pub(crate) mod put;
pub(crate) mod shown;
