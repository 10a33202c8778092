//! The state shared by all pages.

use std::sync::Arc;

use axum::Router;

use crate::model::bucket::Bucket;
use crate::web::api::{Api, escaped};
use crate::web::api_address::ApiPlace;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;
use crate::web::session::{SessionSecret, Sessions};
use dripfeed_auth::WaitLimit;
use dripfeed_job::redaction::Redaction;

/// Maximum number of concurrent exports, in total and per visitor. Each keeps a page or two of dead letters in memory
/// until its client reads them.
const EXPORTS: usize = 8;
const EXPORTS_OF_ONE: usize = 2;

/// The dashboard. Cheap to clone; clones share their state.
#[derive(Clone)]
pub struct Dashboard(Arc<DashboardState>);

struct DashboardState {
    api: Api,
    place: ApiPlace,
    sessions: Sessions,
    playground: bool,
    redaction: Redaction,
    exports: WaitLimit,
}

impl Dashboard {
    /// Uses the routes of the API; `place` is where visitors reach it. `playground`: whether the API has
    /// `/v1/dev/upstream`, and pages have buttons to submit jobs.
    #[must_use]
    pub fn new(api: Router, place: ApiPlace, secret: SessionSecret, playground: bool, redaction: Redaction) -> Self {
        let sessions = Sessions::new(secret, place.has_tls);
        let exports = WaitLimit::new(EXPORTS, EXPORTS_OF_ONE);
        Self(Arc::new(DashboardState { api: Api::new(api), place, sessions, playground, redaction, exports }))
    }

    pub(crate) fn api(&self) -> &Api {
        &self.0.api
    }

    pub(crate) fn api_place(&self) -> ApiPlace {
        self.0.place
    }

    pub(crate) fn has_playground(&self) -> bool {
        self.0.playground
    }

    pub(crate) fn redaction(&self) -> &Redaction {
        &self.0.redaction
    }

    pub(crate) fn exports(&self) -> &WaitLimit {
        &self.0.exports
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    /// A bucket that the visitor may read.
    pub(crate) async fn bucket(&self, visitor: &Visitor, name: &str) -> Result<Bucket, Failure> {
        self.api().get(visitor, &format!("/v1/buckets/{}", escaped(name))).await
    }
}
