//! The audit log of a bucket: part of its page, reloaded after changes.

use std::sync::Arc;

use futures::lock::Mutex;
use jiff::Timestamp;

use crate::dashboard::Dashboard;
use crate::live::list_refresh::is_recent;
use crate::model::List;
use crate::model::audit::AuditEntry;
use crate::model::bucket::Bucket;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// The entries, the newest first.
pub(crate) type Trail = Arc<Vec<AuditEntry>>;

pub(crate) async fn read(page: &Dashboard, visitor: &Visitor, bucket: &str) -> Result<Trail, Failure> {
    let path = format!("/v1/buckets/{}/audit", escaped(bucket));
    page.api().get::<List<AuditEntry>>(visitor, &path).await.map(|list| Arc::new(list.items))
}

/// The entry about the pause of a paused bucket.
pub(crate) fn paused_by<'t>(bucket: &Bucket, trail: &'t [AuditEntry]) -> Option<&'t AuditEntry> {
    let latest = trail.iter().find(|entry| matches!(entry.action.as_str(), "pause" | "resume"));
    latest.filter(|entry| bucket.paused && entry.action == "pause")
}

/// The audit log of a live page. It is read when the bucket was paused, resumed or changed, and from time to time for
/// other entries, but not with each frame.
#[derive(Clone, Default)]
pub(crate) struct LiveTrail(Arc<Mutex<Option<Known>>>);

struct Known {
    of: (bool, String),
    trail: Trail,
    at: Timestamp,
    is_final: bool,
}

impl LiveTrail {
    /// The log at the time of a frame. `None` if it can't be read now.
    pub(crate) async fn read(&self, page: &Dashboard, visitor: &Visitor, at: &str, bucket: &Bucket) -> Option<Trail> {
        let (mut known, at) = (self.0.lock().await, at.parse::<Timestamp>().ok()?);
        let of = (bucket.paused, bucket.changes.to_string());
        let before = known.as_ref().filter(|known| known.of == of);
        if let Some(known) = before.filter(|known| known.is_final && is_recent(known.at, at)) {
            return Some(known.trail.clone());
        }
        // An entry is written just after the change, so only the log of the next frame certainly has it.
        let is_final = before.is_some();
        let trail = read(page, visitor, &bucket.name).await.ok()?;
        *known = Some(Known { of, trail: trail.clone(), at, is_final });
        Some(trail)
    }
}
