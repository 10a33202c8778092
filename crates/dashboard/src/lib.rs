//! The dashboard: shows and operates buckets in a browser.
//!
//! The path of a request: `web::visitor` (turns the session into a key) → `pages` (one file per page) → `web::api`
//! (calls the public API in this process, with that key) → `parts` (shared elements of pages). `live` turns API events
//! into updated parts of a page.
//!
//! **Architecture invariant:** nothing here accesses Redis or a bucket. The dashboard shows and does only what the API
//! allows the visitor's key.

/// Parses the frames of `GET /v1/events`, also for `dripfeed top`.
pub mod frame {
    pub use crate::live::event_buffer::EventBuffer;
    pub use crate::live::live_rates::LiveRates;
    pub use crate::live::redis_read_timer::RedisReadTimer;
    pub use crate::model::bucket::{Bucket, Frame, Pace, Replica, Row, Summary, Totals};
    pub use crate::model::redis::Redis;
    pub use crate::parts::attention::{Notice, counts, of_bucket, of_redis, of_unavailable, sort, title};
    pub use crate::parts::leak::{State, Why, empties};
    pub use crate::parts::numbers;
}

mod dashboard;
mod live;
mod model;
mod pages;
mod parts;
mod router;
#[cfg(test)]
mod tests;
mod web;

pub use dashboard::Dashboard;
pub use web::api_address::ApiPlace;
pub use web::error_pages::with_error_pages;
pub use web::session::SessionSecret;
