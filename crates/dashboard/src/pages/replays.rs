//! Background replays on the page of dead letters: start, progress, stop.

use axum::extract::{Path, State};
use axum::response::Response;
use dripfeed_job::LastStatus;
use http::Method;
use serde_json::{Value, json};

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::model::replay::Replay;
use crate::pages::dead_query::DeadQuery;
use crate::pages::done::after;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

pub(crate) async fn read(page: &Dashboard, visitor: &Visitor, name: &str) -> Result<Vec<Replay>, Failure> {
    let path = format!("/v1/buckets/{}/dead/replays", escaped(name));
    page.api().get::<List<Replay>>(visitor, &path).await.map(|list| list.items)
}

pub(crate) async fn start(State(page): State<Dashboard>, Path(name): Path<String>, action: Action) -> Response {
    after(&action.visitor, started(&page, &action, &name).await)
}

async fn started(page: &Dashboard, action: &Action, name: &str) -> Result<String, Failure> {
    let mut filter = action.members(&["reason", "caller", "rate"]);
    if let Some(status) = action.field("status") {
        // Sent even if it isn't a status, so that the API refuses it. Without it, letters of any status would be
        // replayed.
        let wanted = status.parse::<LastStatus>().map_or_else(|_| json!(status), |status| json!(status));
        filter.insert("status".to_owned(), wanted);
    }
    if action.field("exact_reason") == Some("true") {
        filter.insert("exact_reason".to_owned(), json!(true));
    }
    let path = format!("/buckets/{}/dead", escaped(name));
    let filter = Value::Object(filter);
    page.api().call(&action.visitor, Method::POST, &format!("/v1{path}/replays"), Some(&filter)).await?;
    Ok(format!("{path}{}", DeadQuery::of_action(action).after("replaying", None)))
}

pub(crate) async fn cancel(
    State(page): State<Dashboard>,
    Path((name, id)): Path<(String, String)>,
    action: Action,
) -> Response {
    let path = format!("/buckets/{}/dead", escaped(&name));
    let replay = format!("/v1{path}/replays/{}", escaped(&id));
    let cancelled = page.api().call(&action.visitor, Method::DELETE, &replay, None).await;
    after(&action.visitor, cancelled.map(|_| format!("{path}?done=stopped")))
}
