//! The page: what a person sees of dripfeed, and does about it.
//!
//! A request's way: `web::visitor` (the session becomes a key) → `pages` (one file per page) → `web::api` (calls the
//! public API in this process, with that key) → `parts` (what several pages draw). `live` turns the events of the API
//! into parts of a page that changed.
//!
//! **Architecture invariant:** nothing here reaches Redis or a bucket. What the page shows and does, the API shows and
//! does for the visitor's key; a key without a scope can't get by here either.

mod dashboard;
mod live;
mod model;
mod pages;
mod parts;
mod router;
mod web;

pub use dashboard::Dashboard;
pub use web::session::SessionSecret;
