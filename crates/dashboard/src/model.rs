//! Responses of the API, with the members that the dashboard shows.

pub(crate) mod audit;
pub(crate) mod bucket;
pub(crate) mod flows;
pub(crate) mod history;
pub(crate) mod holders;
pub(crate) mod job;
pub(crate) mod redis;
pub(crate) mod replay;
pub(crate) mod schedule;
pub(crate) mod services;
pub(crate) mod setting;

use serde::Deserialize;

/// A page of a list.
#[derive(Deserialize)]
pub(crate) struct List<T> {
    pub(crate) items: Vec<T>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}
