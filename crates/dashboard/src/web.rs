//! Requests and responses: sessions, visitors, forms, the API, and static files.

pub(crate) mod answer;
pub(crate) mod api;
pub(crate) mod api_address;
pub(crate) mod assets;
pub(crate) mod error_pages;
pub(crate) mod failure;
pub(crate) mod form;
mod freshness;
pub(crate) mod identity;
pub(crate) mod retry;
pub(crate) mod session;
pub(crate) mod visitor;
