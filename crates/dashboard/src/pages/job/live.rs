//! Live updates of a job: its attempts, and its outcome.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use futures::lock::Mutex;
use http::{Method, StatusCode};

use super::timeline::{TIMELINE, timeline};
use super::{ACTIONS, CONTENT, actions, content};
use crate::dashboard::Dashboard;
use crate::live::watcher::Watcher;
use crate::live::{self, Part};
use crate::model::bucket::Frame;
use crate::model::job::Job;
use crate::web::api::escaped;
use crate::web::identity::Visitor;

/// The job as the page shows it.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    /// The response of the API.
    job: Bytes,
    has_ended: bool,
}

pub(crate) async fn events(
    State(page): State<Dashboard>,
    Watcher(visitor): Watcher,
    Path((name, id)): Path<(String, String)>,
) -> Response {
    let shown = Shown::default();
    let of = Arc::new((page.clone(), visitor.clone(), name.clone(), id));
    let draw = move |_: Arc<Frame>| {
        let (of, shown) = (Arc::clone(&of), shown.clone());
        async move {
            let (page, visitor, name, id) = &*of;
            shown.parts(page, visitor, name, id).await
        }
    };
    live::events(&page, &visitor, &[name], draw).await
}

impl Shown {
    /// The parts of a job that has changed. `None` if the job no longer exists; the reloaded page reports that.
    async fn parts(&self, page: &Dashboard, visitor: &Visitor, name: &str, id: &str) -> Option<Vec<Part>> {
        let mut known = self.0.lock().await;
        if known.has_ended {
            return Some(Vec::new());
        }
        let path = format!("/v1/buckets/{}/jobs/{}", escaped(name), escaped(id));
        let (status, body) = page.api().answer(visitor, Method::GET, &path, None).await.unwrap_or_default();
        if status == StatusCode::NOT_FOUND {
            return None;
        }
        if known.job == body {
            return Some(Vec::new());
        }
        let Ok(job) = serde_json::from_slice::<Job>(&body) else { return Some(Vec::new()) };
        known.job = body;
        let timeline = timeline(page, visitor, name, &job).await;
        let mut parts = vec![(TIMELINE.to_owned(), timeline), (ACTIONS.to_owned(), actions(visitor, name, &job))];
        if job.outcome.is_some() {
            // Only now, because frames are read without the payload.
            parts.push((CONTENT.to_owned(), content(page, visitor, name, &job)));
            known.has_ended = true;
        }
        Some(parts)
    }
}
