//! `GET /v1/keys`, `GET /v1/keys/{id}`: the keys created over the API.

use axum::Json;
use axum::extract::{OriginalUri, State};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dripfeed_auth::ReadKeys;
use http::HeaderMap;
use serde::Deserialize;

use super::change;
use super::shown::{ShownKey, answer};
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::{Allowed, KeyInPath};
use crate::request::pagination::{self, List, NoParams, Params};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeysQuery {
    limit: Option<String>,
    cursor: Option<String>,
}

/// Lists the keys created over the API that have no more permissions than the caller's key, ordered by id.
#[utoipa::path(
    get, path = "/v1/keys", tag = "installation", params(parameters::Paging),
    operation_id = "list_keys",
    responses(
        (status = 200, description = "A page of keys", body = List<ShownKey>,
            headers(("Link" = String, description = "`rel=\"next\"`: the next page"))),
        responses::OfKeys,
    )
)]
pub(crate) async fn keys(
    State(intake): State<Intake>,
    Allowed { caller, .. }: Allowed<ReadKeys>,
    Params(query): Params<KeysQuery>,
    OriginalUri(uri): OriginalUri,
) -> Result<Response, Problem> {
    let limit = pagination::limit(query.limit.as_deref())?;
    let after = pagination::param("cursor", query.cursor.as_deref(), decode_cursor)?;
    intake.keys().follow().await?;
    let (all, now_ms) = (intake.keys().run_time_keys(), intake.keys().now_ms());
    let seen = all.values().filter(|key| after.as_deref().is_none_or(|after| key.key.id.as_str() > after));
    let mut seen = seen.filter(|key| caller.covers(key)).peekable();
    let items: Vec<ShownKey> = seen.by_ref().take(limit).map(|key| ShownKey::of(key, now_ms)).collect();
    let next = seen.peek().and(items.last()).map(|last| URL_SAFE_NO_PAD.encode(last.id()));
    let link = next.as_deref().map(|next| pagination::link(&uri, next));
    Ok((link.into_iter().collect::<HeaderMap>(), Json(List { items, next })).into_response())
}

/// Returns a key created over the API, without its secret.
#[utoipa::path(
    get, path = "/v1/keys/{id}", tag = "installation", params(parameters::Key),
    operation_id = "get_key",
    responses((status = 200, description = "The key", body = ShownKey), responses::OfKey)
)]
pub(crate) async fn shown_key(
    State(intake): State<Intake>,
    Allowed { caller, .. }: Allowed<ReadKeys>,
    _: Params<NoParams>,
    KeyInPath(id): KeyInPath,
) -> Result<Response, Problem> {
    let found = change::find(&intake, &caller, &id).await?.ok_or_else(Problem::unknown_key)?;
    Ok(answer(&found, &ShownKey::of(&found, intake.keys().now_ms())))
}

/// Returns the last id of the previous page. A cursor is the id in base64, because ids may have any characters.
fn decode_cursor(cursor: &str) -> Result<String, String> {
    let id = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|id| String::from_utf8(id).ok());
    id.ok_or_else(|| "use `next` of the previous page, or omit it".to_owned())
}
