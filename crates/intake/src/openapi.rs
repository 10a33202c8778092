//! The parts of the API description (OpenAPI) that can't be derived from the handlers' types.

pub(crate) mod description;
pub(crate) mod document;
pub(crate) mod flow_tier;
pub(crate) mod formats;
pub(crate) mod pace_tier;
pub(crate) mod parameters;
pub(crate) mod patch;
pub(crate) mod published;
pub(crate) mod responses;
pub(crate) mod rules;
mod scopes;
pub(crate) mod verdict;
