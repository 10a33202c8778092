//! Who paused the buckets that are shown as cards.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::join_all;
use futures::lock::Mutex;

use crate::dashboard::Dashboard;
use crate::model::audit::AuditEntry;
use crate::model::bucket::Bucket;
use crate::pages::bucket::trail::{LiveTrail, Trail, paused_by};
use crate::web::identity::Visitor;

/// The audit logs of paused buckets, by name, without those that can't be read now.
pub(super) struct Pauses(HashMap<String, Trail>);

impl Pauses {
    /// The entry about the pause of a paused bucket.
    pub(super) fn entry_of(&self, bucket: &Bucket) -> Option<&AuditEntry> {
        paused_by(bucket, self.0.get(&bucket.name)?)
    }
}

/// The audit logs of the paused buckets of a live page. Others aren't read.
#[derive(Clone, Default)]
pub(super) struct LivePauses(Arc<Mutex<HashMap<String, LiveTrail>>>);

impl LivePauses {
    /// The logs at the time of a frame.
    pub(super) async fn at(&self, page: &Dashboard, visitor: &Visitor, at: &str, buckets: &[Bucket]) -> Pauses {
        let paused: Vec<&Bucket> = buckets.iter().filter(|bucket| bucket.paused).collect();
        let mut known = self.0.lock().await;
        known.retain(|name, _| paused.iter().any(|bucket| bucket.name == *name));
        let trails = paused.into_iter().map(|bucket| (bucket, known.entry(bucket.name.clone()).or_default().clone()));
        let read = trails.map(async |(bucket, trail): (&Bucket, LiveTrail)| {
            Some((bucket.name.clone(), trail.read(page, visitor, at, bucket).await?))
        });
        Pauses(join_all(read).await.into_iter().flatten().collect())
    }
}
