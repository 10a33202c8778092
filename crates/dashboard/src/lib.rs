//! The page: what a person sees of dripfeed, and does about it.
//!
//! A request's way: `web::visitor` (the session becomes a key) → `pages` (one file per page) → `web::api` (calls the
//! public API in this process, with that key) → `parts` (what several pages draw). `live` turns the events of the API
//! into parts of a page that changed.
//!
//! **Architecture invariant:** nothing here reaches Redis or a bucket. What the page shows and does, the API shows and
//! does for the visitor's key; a key without a scope can't get by here either.

/// What a frame of `GET /v1/events` says of buckets, as `dripfeed top` shows it too.
pub mod frame {
    pub use crate::live::event_buffer::EventBuffer;
    pub use crate::live::pulse::Pulse;
    pub use crate::model::bucket::{Bucket, Frame, Pace, Replica, Row, Summary, Totals};
    pub use crate::model::redis::Redis;
    pub use crate::parts::attention::{Notice, of_bucket, of_redis, of_unavailable, sort};
    pub use crate::parts::leak::{State, Why, empties};
    pub use crate::parts::numbers;
}

mod dashboard;
mod live;
mod model;
mod pages;
mod parts;
mod router;
mod web;

pub use dashboard::Dashboard;
pub use web::session::SessionSecret;
