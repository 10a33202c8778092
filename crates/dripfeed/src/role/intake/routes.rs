//! The routes of an intake on its addresses: API and dashboard.

use std::net::SocketAddr;

use axum::Router;
use dripfeed_dashboard::{ApiPlace, Dashboard, SessionSecret, with_error_pages};
use dripfeed_intake::Intake;
use dripfeed_job::redaction::Redaction;
use dripfeed_store::Salt;

use crate::settings::DashboardPlace;

pub(super) struct Routes {
    pub(super) intake: Intake,
    /// The address of the API.
    pub(super) address: SocketAddr,
    pub(super) place: DashboardPlace,
    pub(super) salt: Salt,
    pub(super) has_tls: bool,
    pub(super) redaction: Redaction,
    /// Only in `dripfeed dev`.
    pub(super) playground: Option<Router>,
}

impl Routes {
    /// Returns the routes of the API's address.
    pub(super) fn all(&self) -> Router {
        let playground = self.playground.clone().unwrap_or_default();
        match self.place {
            DashboardPlace::Intake => with_error_pages(self.intake.router_with(playground.merge(self.page()))),
            DashboardPlace::Apart(_) | DashboardPlace::Off => self.intake.api_with(playground),
        }
    }

    /// Returns the routes of the dashboard's address, if it has a separate one.
    pub(super) fn apart(&self) -> Router {
        with_error_pages(self.intake.page_alone(self.page()))
    }

    fn page(&self) -> Router {
        let salt = self.salt.clone();
        let secret = SessionSecret::new(move || salt.bytes().to_vec());
        let api = self.intake.api_within(self.playground.clone().unwrap_or_default());
        let is_apart = matches!(self.place, DashboardPlace::Apart(_));
        let place = ApiPlace { has_tls: self.has_tls, apart: Some(self.address).filter(|_| is_apart) };
        Dashboard::new(api, place, secret, self.playground.is_some(), self.redaction.clone()).router()
    }
}
