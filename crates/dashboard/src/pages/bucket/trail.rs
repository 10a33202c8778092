//! The audit log of a bucket: part of its page, reloaded after changes.

use std::sync::Arc;

use futures::lock::Mutex;
use jiff::Timestamp;

use crate::dashboard::Dashboard;
use crate::live::reread::is_recent;
use crate::model::List;
use crate::model::audit::AuditEntry;
use crate::model::bucket::Bucket;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// The newest first.
pub(crate) type Trail = Arc<Vec<AuditEntry>>;

pub(crate) async fn read(page: &Dashboard, visitor: &Visitor, bucket: &str) -> Result<Trail, Failure> {
    let path = format!("/v1/buckets/{}/audit", escaped(bucket));
    page.api().get::<List<AuditEntry>>(visitor, &path).await.map(|list| Arc::new(list.items))
}

/// Who paused a bucket that is paused, and when.
pub(crate) fn paused_by<'t>(bucket: &Bucket, trail: &'t [AuditEntry]) -> Option<&'t AuditEntry> {
    let latest = trail.iter().find(|entry| matches!(entry.action.as_str(), "pause" | "resume"));
    latest.filter(|entry| bucket.paused && entry.action == "pause")
}

/// Of a page that somebody looks at: a trail isn't read with each frame, but when the bucket was paused, resumed or
/// changed, and from time to time for what can't be seen of the bucket.
#[derive(Clone, Default)]
pub(crate) struct LiveTrail(Arc<Mutex<Option<Known>>>);

struct Known {
    of: (bool, String),
    trail: Trail,
    at: Timestamp,
    is_final: bool,
}

impl LiveTrail {
    /// At the time of a frame. None: it can't be read now.
    pub(crate) async fn read(&self, page: &Dashboard, visitor: &Visitor, at: &str, bucket: &Bucket) -> Option<Trail> {
        let (mut known, at) = (self.0.lock().await, at.parse::<Timestamp>().ok()?);
        let of = (bucket.paused, bucket.changes.to_string());
        let before = known.as_ref().filter(|known| known.of == of);
        if let Some(known) = before.filter(|known| known.is_final && is_recent(known.at, at)) {
            return Some(known.trail.clone());
        }
        // What is done is written down just after it took effect: the frame after that has it for sure.
        let is_final = before.is_some();
        let trail = read(page, visitor, &bucket.name).await.ok()?;
        *known = Some(Known { of, trail: trail.clone(), at, is_final });
        Some(trail)
    }
}
