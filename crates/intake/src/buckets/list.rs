//! `GET /v1/buckets`.

use std::time::Instant;

use axum::Json;
use axum::extract::{OriginalUri, State};
use axum::response::{IntoResponse as _, Response};
use dripfeed_auth::Read;
use dripfeed_bucket::{Bucket, BucketError};
use dripfeed_job::BucketName;
use futures::{StreamExt as _, stream};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::buckets::recent::{self, RecentStates};
use crate::buckets::state::{BucketState, READ_AT_ONCE};
use crate::intake::Intake;
use crate::openapi::responses;
use crate::problem::{Problem, ProblemDocument};
use crate::request::access::Allowed;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{self, List, Params};

/// After as many bytes a page ends: a bucket may show tens of kilobytes of limits.
const PAGE_BYTES: usize = 4 << 20;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct BucketsQuery {
    /// The maximum number of buckets.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000, default = 1000)]
    limit: Option<String>,
    /// `next` of the previous page.
    cursor: Option<String>,
}

/// Lists the buckets that the caller may access, ordered by name. A bucket whose state can't be read is listed with an
/// error.
///
/// A page has fewer buckets than `limit` when their states are large. With `Cache-Control: max-age=1` or more, states
/// may be up to a second old.
#[utoipa::path(
    get, path = "/v1/buckets", tag = "buckets", params(BucketsQuery),
    operation_id = "list_buckets",
    responses(
        (status = 200, description = "A page of buckets", body = List<ListedBucket>,
            headers(("Link" = String, description = "`rel=\"next\"`: the next page"))),
        responses::OfAll,
    )
)]
pub(crate) async fn buckets(
    State(intake): State<Intake>,
    Allowed { caller, .. }: Allowed<Read>,
    ClientIp(address): ClientIp,
    Params(query): Params<BucketsQuery>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let limit = query.limit.as_deref().map_or(Ok(pagination::MOST_ITEMS), |text| pagination::limit(Some(text)))?;
    let after = pagination::parsed::<BucketName>("cursor", query.cursor.as_deref())?;
    let turn = intake.lookup_turn(&caller, address).await;
    let is_behind = |name: &str| after.as_ref().is_none_or(|after| name > after.as_str());
    let theirs = intake.buckets().among(|name| is_behind(name) && caller.may_use(name));
    let (reading, wanted) = (intake.clone(), recent::are_wanted(&headers));
    let read = async move { BucketPage::read(&reading, &theirs, limit, wanted).await.map(|page| (page, theirs)) };
    let (page, theirs) = turn.run(read).await??;
    let next = theirs.get(page.read).and(page.read.checked_sub(1).map(|last| theirs[last].name()));
    // Where no state can be read, the cause isn't a single bucket; but a small page may have only some that can't.
    if let Some(problem) = page.none_is_read
        && (after.is_none() && next.is_none() || !intake.health().redis().await.is_partly_up())
    {
        return Err(problem);
    }
    let next = next.map(ToString::to_string);
    let link = next.as_deref().map(|next| pagination::link(&uri, next));
    Ok((link.into_iter().collect::<HeaderMap>(), Json(List { items: page.items, next })).into_response())
}

/// In JSON, so that its bytes are counted before they are sent.
struct BucketPage {
    items: Vec<Box<RawValue>>,
    /// How many buckets it comes of.
    read: usize,
    /// Why the first of them can't be read, if none can.
    none_is_read: Option<Problem>,
}

impl BucketPage {
    /// Of the first of `buckets`. `recent`: states of the last second will do.
    async fn read(intake: &Intake, buckets: &[Bucket], limit: usize, recent: bool) -> Result<Self, Problem> {
        let recent = recent.then(|| intake.recent_states());
        let first = buckets.iter().take(limit).cloned();
        let mut items = stream::iter(first).map(|bucket| Item::of(intake, bucket, recent)).buffered(READ_AT_ONCE);
        let mut page = Self { items: Vec::new(), read: 0, none_is_read: None };
        let (mut bytes, mut is_any_read) = (0, false);
        while bytes < PAGE_BYTES
            && let Some(item) = items.next().await
        {
            page.read += 1;
            let Some(Item { json, unread }) = item? else { continue };
            bytes += json.get().len();
            page.items.push(json);
            is_any_read |= unread.is_none();
            page.none_is_read = page.none_is_read.or(unread);
        }
        if is_any_read {
            page.none_is_read = None;
        }
        if let Some(recent) = recent {
            recent.sweep();
        }
        Ok(page)
    }
}

struct Item {
    json: Box<RawValue>,
    /// Why its state can't be read.
    unread: Option<Problem>,
}

impl Item {
    /// None: the bucket was deleted a moment ago.
    async fn of(intake: &Intake, bucket: Bucket, recent: Option<&RecentStates>) -> Result<Option<Self>, Problem> {
        if let Some(json) = recent.and_then(|recent| recent.of(bucket.name())) {
            return Ok(Some(Self { json, unread: None }));
        }
        let (name, begun) = (bucket.name().clone(), Instant::now());
        let Some(state) = ListedBucket::of(intake, bucket).await else { return Ok(None) };
        let json = serde_json::value::to_raw_value(&state).map_err(|_| Problem::internal())?;
        match state {
            ListedBucket::State(_) => {
                if let Some(recent) = recent {
                    recent.keep(&name, &json, begun);
                }
                Ok(Some(Self { json, unread: None }))
            }
            ListedBucket::Unavailable(bucket) => Ok(Some(Self { json, unread: Some(bucket.error) })),
        }
    }
}

/// A bucket in a list.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ListedBucket {
    State(Box<BucketState>),
    Unavailable(UnavailableBucket),
}

impl ListedBucket {
    /// None: it was deleted a moment ago.
    async fn of(intake: &Intake, bucket: Bucket) -> Option<Self> {
        let read = BucketState::read(&bucket).await;
        let again = |bucket: Bucket| async move { BucketState::read(&bucket).await };
        match intake.or_current(&bucket, read, again).await.1 {
            Ok(state) => Some(Self::State(Box::new(state))),
            Err(BucketError::Gone) => None,
            Err(error) => {
                let (name, kind) = (bucket.name().clone(), bucket.settings().kind.as_str());
                Some(Self::Unavailable(UnavailableBucket { name, kind, error: Problem::from(error).of_read() }))
            }
        }
    }
}

/// A bucket whose state can't be read, for example while its slot moves to another node.
#[derive(Serialize, ToSchema)]
pub(crate) struct UnavailableBucket {
    #[schema(value_type = String)]
    name: BucketName,
    /// `stream` or `list`.
    kind: &'static str,
    /// The cause.
    #[schema(value_type = ProblemDocument<'static>)]
    error: Problem,
}
