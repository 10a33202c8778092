//! The notices of Redis on a live page.

use std::sync::Arc;

use futures::lock::Mutex;

use super::live_parts::of_redis;
use crate::dashboard::Dashboard;
use crate::live::redis_read_timer::RedisReadTimer;
use crate::model::bucket::Frame;
use crate::parts::attention::Notice;
use crate::web::identity::Visitor;

/// The last notices of one stream of frames.
#[derive(Clone, Default)]
pub(super) struct RedisNotices(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    turn: RedisReadTimer,
    notices: Arc<Vec<Notice>>,
}

impl RedisNotices {
    pub(super) async fn at(&self, page: &Dashboard, visitor: &Visitor, frame: &Frame) -> Arc<Vec<Notice>> {
        let mut known = self.0.lock().await;
        if known.turn.is_due(frame) {
            known.notices = Arc::new(of_redis(page, visitor).await);
        }
        Arc::clone(&known.notices)
    }
}
