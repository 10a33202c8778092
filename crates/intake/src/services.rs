//! Rate limits of services: their rules, and checks of requests against them.

pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod rules;
