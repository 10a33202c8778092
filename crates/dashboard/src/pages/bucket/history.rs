//! `/buckets/{b}/history`: the charts of a bucket, as part of its page.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::StatusCode;
use maud::Markup;
use serde::Deserialize;

use crate::dashboard::Dashboard;
use crate::model::history::History;
use crate::parts::layout;
use crate::parts::strips::{self, WINDOWS};
use crate::web::answer;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// The window of the charts, in the query of the page.
#[derive(Default, Deserialize)]
pub(crate) struct Window {
    window: Option<String>,
}

impl Window {
    /// The window, if it is one of [`WINDOWS`]; otherwise the first.
    fn name(&self) -> &'static str {
        let mut known = WINDOWS.into_iter().map(|(name, _)| name);
        known.find(|name| Some(*name) == self.window.as_deref()).unwrap_or(WINDOWS[0].0)
    }
}

/// The charts; empty if the history can't be read, so that the rest of the page is shown.
pub(crate) async fn section(page: &Dashboard, visitor: &Visitor, bucket: &str, window: &Window) -> Markup {
    read(page, visitor, bucket, window).await.unwrap_or_default()
}

async fn read(page: &Dashboard, visitor: &Visitor, bucket: &str, window: &Window) -> Result<Markup, Failure> {
    let window = window.name();
    let path = format!("/v1/buckets/{}/history?window={window}", escaped(bucket));
    let history = page.api().get::<History>(visitor, &path).await?;
    let history = match history.is_unknown() {
        true => history.or_now(&page.bucket(visitor, bucket).await?.row()),
        false => history,
    };
    Ok(strips::of(bucket, window, &history))
}

/// The charts alone, which the page reloads from time to time.
pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(window): Query<Window>,
) -> Response {
    match read(&page, &visitor, &name, &window).await {
        Ok(section) => answer::page(StatusCode::OK, section),
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}
