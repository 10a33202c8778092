//! The entries of several audit logs.

use std::cmp::Reverse;

use futures::future::join_all;
use http::StatusCode;

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::model::audit::AuditEntry;
use crate::parts::listing;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// Maximum number of buckets whose logs are read for one page.
pub(super) const MOST_LOGS: usize = 64;
/// More entries of services than are shown aren't read.
const MOST_OF_SERVICES: &str = "200";

/// What an entry is about.
#[derive(Clone)]
pub(super) enum Subject {
    Bucket(String),
    Service(String),
    Keys,
}

#[derive(Default)]
pub(super) struct Logs {
    /// The newest first.
    pub(super) entries: Vec<(Subject, AuditEntry)>,
    /// Buckets whose log can't be read now.
    pub(super) unreadable: Vec<String>,
}

impl Logs {
    fn of(mut entries: Vec<(Subject, AuditEntry)>, unreadable: Vec<String>) -> Self {
        entries.sort_by_key(|(_, entry)| Reverse(entry.at.clone()));
        Self { entries, unreadable }
    }

    pub(super) async fn of_bucket(page: &Dashboard, visitor: &Visitor, name: &str) -> Result<Self, Failure> {
        bucket(page, visitor, name).await.map(|entries| Self::of(entries, Vec::new()))
    }

    pub(super) async fn of_service(page: &Dashboard, visitor: &Visitor, name: &str) -> Result<Self, Failure> {
        services(page, visitor, Some(name)).await.map(|entries| Self::of(entries, Vec::new()))
    }

    /// Reads the logs of buckets, services and keys.
    pub(super) async fn of_all(page: &Dashboard, visitor: &Visitor, buckets: &[String]) -> Result<Self, Failure> {
        let read = join_all(buckets.iter().take(MOST_LOGS).map(|name| bucket(page, visitor, name))).await;
        let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
        for (name, read) in buckets.iter().zip(read) {
            match read {
                Ok(of_bucket) => entries.extend(of_bucket),
                // Deleted since the list was read.
                Err(failure) if failure.status == StatusCode::NOT_FOUND => {}
                Err(_) => unreadable.push(name.clone()),
            }
        }
        entries.extend(services(page, visitor, None).await?);
        entries.extend(keys(page, visitor).await?);
        Ok(Self::of(entries, unreadable))
    }
}

async fn bucket(page: &Dashboard, visitor: &Visitor, name: &str) -> Result<Vec<(Subject, AuditEntry)>, Failure> {
    let list: List<AuditEntry> = page.api().get(visitor, &format!("/v1/buckets/{}/audit", escaped(name))).await?;
    Ok(list.items.into_iter().map(|entry| (Subject::Bucket(name.to_owned()), entry)).collect())
}

async fn services(
    page: &Dashboard,
    visitor: &Visitor,
    name: Option<&str>,
) -> Result<Vec<(Subject, AuditEntry)>, Failure> {
    let query = listing::query(&[("service", name), ("limit", Some(MOST_OF_SERVICES))]);
    let list: List<AuditEntry> = page.api().get(visitor, &format!("/v1/services/audit{query}")).await?;
    Ok(list.items.into_iter().map(|entry| (Subject::Service(entry.service.clone()), entry)).collect())
}

/// Reads the log of keys that were created over the API, if the visitor may see it.
async fn keys(page: &Dashboard, visitor: &Visitor) -> Result<Vec<(Subject, AuditEntry)>, Failure> {
    // Without a key in the configuration, none can be created.
    if visitor.permissions.id.is_none() || !visitor.may("keys") {
        return Ok(Vec::new());
    }
    let list: List<AuditEntry> = page.api().get(visitor, "/v1/audit").await?;
    Ok(list.items.into_iter().map(|entry| (Subject::Keys, entry)).collect())
}
