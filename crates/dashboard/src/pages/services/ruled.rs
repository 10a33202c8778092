//! Services with their rules and decisions.

use http::StatusCode;

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::model::services::{Rules, Service, ServiceHistory};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// A service, its rules, and their decisions.
pub(super) struct Ruled {
    pub(super) service: Service,
    pub(super) rules: Rules,
    pub(super) history: ServiceHistory,
}

pub(super) async fn read(page: &Dashboard, visitor: &Visitor) -> Result<Vec<Ruled>, Failure> {
    let services: List<Service> = page.api().get(visitor, "/v1/services").await?;
    let mut ruled = Vec::with_capacity(services.items.len());
    for service in services.items {
        let path = format!("/v1/services/{}", escaped(&service.name));
        let rules = match page.api().get(visitor, &format!("{path}/rules")).await {
            // Deleted since the list was read.
            Err(failure) if failure.status == StatusCode::NOT_FOUND => continue,
            rules => rules?,
        };
        // If the history can't be read, the rules are shown all the same.
        let history = page.api().get(visitor, &format!("{path}/history")).await.unwrap_or_default();
        ruled.push(Ruled { service, rules, history });
    }
    Ok(ruled)
}
