//! The routes of the dashboard.

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{get, post};

use crate::dashboard::Dashboard;
use crate::pages::{
    audit, bucket, buckets, cancel_many, dead, dead_groups, edit, export, job, jobs, letter, playground, redis,
    replays, services, sign_in,
};
use crate::web::{assets, retry};

impl Dashboard {
    /// Returns all routes of the dashboard, including `/`.
    pub fn router(&self) -> Router {
        Router::new()
            .route("/", get(buckets::show))
            .route("/live/buckets", get(buckets::events))
            .route("/live/buckets/{bucket}", get(bucket::live))
            .route("/buckets/{bucket}", get(bucket::show))
            .route("/buckets/{bucket}/history", get(bucket::history::show))
            .route("/buckets/{bucket}/pause", post(bucket::pause))
            .route("/buckets/{bucket}/resume", post(bucket::resume))
            .route("/buckets/{bucket}/purge", post(bucket::purge))
            .route("/buckets/{bucket}/change", get(bucket::change::linked).post(bucket::change::apply))
            .route("/buckets/{bucket}/change/preview", post(bucket::change::preview))
            .route("/buckets/{bucket}/schedules/{id}/{verb}", post(bucket::schedules::switch))
            .route("/buckets/{bucket}/jobs", get(jobs::show))
            .route("/buckets/{bucket}/jobs/cancel", post(cancel_many::cancel))
            .route("/buckets/{bucket}/jobs/{id}", get(job::show))
            .route("/buckets/{bucket}/jobs/{id}/cancel", post(job::cancel))
            .route("/buckets/{bucket}/dead", get(dead::show))
            .route("/buckets/{bucket}/dead/export", get(export::export))
            .route("/live/buckets/{bucket}/dead", get(dead::live))
            .route("/live/buckets/{bucket}/jobs", get(jobs::live))
            .route("/live/buckets/{bucket}/jobs/{id}", get(job::live::events))
            .route("/buckets/{bucket}/dead/replay", post(replays::start))
            .route("/buckets/{bucket}/dead/replays/{id}/cancel", post(replays::cancel))
            .route("/buckets/{bucket}/dead/delete", post(dead_groups::delete))
            .route("/buckets/{bucket}/dead/{id}", get(letter::show))
            .route("/buckets/{bucket}/dead/{id}/replay", post(letter::replay))
            .route("/buckets/{bucket}/dead/{id}/edit", post(edit::edit))
            .route("/buckets/{bucket}/dead/{id}/delete", post(letter::delete))
            .route("/buckets/{bucket}/send", post(playground::send))
            .route("/upstream", post(playground::upstream))
            .route("/services", get(services::show))
            .route("/live/services", get(services::live))
            .route("/services/{service}/try", post(services::check))
            .route("/audit", get(audit::show))
            .route("/redis", get(redis::show))
            .route("/sign-in", get(sign_in::show).post(sign_in::sign_in))
            .route("/sign-out", post(sign_in::sign_out))
            .layer(from_fn(retry::reload_failed))
            .with_state(self.clone())
            .merge(assets::router())
    }
}
