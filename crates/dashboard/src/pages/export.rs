//! `/buckets/{b}/dead/export`: dead letters as NDJSON, page by page as the API returns them.

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use dripfeed_auth::{LimitedCaller, WaitPermit};
use futures::stream;
use http::{StatusCode, header};
use serde_json::Value;

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::pages::dead_query::DeadQuery;
use crate::parts::layout;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

struct Export {
    page: Dashboard,
    visitor: Visitor,
    path: String,
    wanted: DeadQuery,
    _permit: WaitPermit,
}

pub(crate) async fn export(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(wanted): Query<DeadQuery>,
) -> Response {
    let waiter = LimitedCaller::new(visitor.permissions.id.as_deref(), visitor.peer.map(|peer| peer.0));
    let Some(permit) = page.exports().enter(waiter) else {
        return layout::failed(Some(&visitor), &too_many());
    };
    let path = format!("/v1/buckets/{}/dead", escaped(&name));
    let export = Export { page, visitor, path, wanted, _permit: permit };
    let first = match export.letters(None).await {
        Ok(first) => first,
        Err(failure) => return layout::failed(Some(&export.visitor), &failure),
    };
    let pages = stream::unfold((export, Some(first)), |(export, letters)| async move {
        let letters = letters?;
        let next = match letters.next.as_deref() {
            // On an error the response is aborted, so that it isn't taken for complete.
            Some(cursor) => match export.letters(Some(cursor)).await {
                Ok(next) => Some(next),
                Err(failure) => return Some((Err(std::io::Error::other(failure.detail)), (export, None))),
            },
            None => None,
        };
        Some((Ok(export.lines(letters.items)), (export, next)))
    });
    let fields = [
        (header::CONTENT_TYPE, "application/x-ndjson"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"dead-letters.ndjson\""),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (StatusCode::OK, fields, Body::from_stream(pages)).into_response()
}

fn too_many() -> Failure {
    let detail = "too many exports are running; retry when one of them has ended";
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "Overloaded; retry later", detail)
}

impl Export {
    async fn letters(&self, cursor: Option<&str>) -> Result<List<Value>, Failure> {
        self.page.api().get(&self.visitor, &format!("{}{}", self.path, self.wanted.page(cursor))).await
    }

    fn lines(&self, letters: Vec<Value>) -> Bytes {
        let line = |mut letter| {
            self.page.redaction().mask_item(&mut letter);
            format!("{letter}\n")
        };
        Bytes::from(letters.into_iter().map(line).collect::<String>())
    }
}
