//! Buckets created over the API: `PUT` and `DELETE /v1/buckets/{b}`.

mod audit;
pub(crate) mod body;
pub(crate) mod definitions;
pub(crate) mod delete;
mod deletion;
pub(crate) mod lookup;
mod precondition;
pub(crate) mod put;
pub(crate) mod shown;
mod wanted;
