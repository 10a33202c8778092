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

/// A page ends after this many bytes, because a bucket may have tens of kilobytes of limits.
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
    let is_after = |name: &str| after.as_ref().is_none_or(|after| name > after.as_str());
    let buckets = intake.buckets().among(|name| is_after(name) && caller.may_use(name));
    let (reading, allows_recent) = (intake.clone(), recent::are_allowed(&headers));
    let read =
        async move { BucketPage::read(&reading, &buckets, limit, allows_recent).await.map(|page| (page, buckets)) };
    let (page, buckets) = turn.run(read).await??;
    let next = buckets.get(page.read).and(page.read.checked_sub(1).map(|last| buckets[last].name()));
    // If no state of the page can be read, the list fails; not if Redis is partly up, and there are other pages.
    if let Some(problem) = page.failure
        && (after.is_none() && next.is_none() || !intake.health().redis().await.is_partly_up())
    {
        return Err(problem);
    }
    let next = next.map(ToString::to_string);
    let link = next.as_deref().map(|next| pagination::link(&uri, next));
    Ok((link.into_iter().collect::<HeaderMap>(), Json(List { items: page.items, next })).into_response())
}

/// A page of buckets as JSON, so that their bytes can be counted.
struct BucketPage {
    items: Vec<Box<RawValue>>,
    /// The number of buckets that were read, including those that were just deleted.
    read: usize,
    /// If no state could be read: why the first one couldn't.
    failure: Option<Problem>,
}

impl BucketPage {
    /// Reads the first of `buckets`. `allows_recent`: whether states may be up to a second old.
    async fn read(intake: &Intake, buckets: &[Bucket], limit: usize, allows_recent: bool) -> Result<Self, Problem> {
        let recent = allows_recent.then(|| intake.recent_states());
        let first = buckets.iter().take(limit).cloned();
        let mut items = stream::iter(first).map(|bucket| Item::of(intake, bucket, recent)).buffered(READ_AT_ONCE);
        let mut page = Self { items: Vec::new(), read: 0, failure: None };
        let (mut bytes, mut is_any_read) = (0, false);
        while bytes < PAGE_BYTES
            && let Some(item) = items.next().await
        {
            page.read += 1;
            let Some(Item { json, failure }) = item? else { continue };
            bytes += json.get().len();
            page.items.push(json);
            is_any_read |= failure.is_none();
            page.failure = page.failure.or(failure);
        }
        if is_any_read {
            page.failure = None;
        }
        if let Some(recent) = recent {
            recent.sweep();
        }
        Ok(page)
    }
}

struct Item {
    json: Box<RawValue>,
    /// Why the state can't be read.
    failure: Option<Problem>,
}

impl Item {
    /// Returns `None` if the bucket was just deleted.
    async fn of(intake: &Intake, bucket: Bucket, recent: Option<&RecentStates>) -> Result<Option<Self>, Problem> {
        if let Some(json) = recent.and_then(|recent| recent.of(bucket.name())) {
            return Ok(Some(Self { json, failure: None }));
        }
        let (name, begun) = (bucket.name().clone(), Instant::now());
        let Some(state) = ListedBucket::of(intake, bucket).await else { return Ok(None) };
        let json = serde_json::value::to_raw_value(&state).map_err(|_| Problem::internal())?;
        match state {
            ListedBucket::State(_) => {
                if let Some(recent) = recent {
                    recent.keep(&name, &json, begun);
                }
                Ok(Some(Self { json, failure: None }))
            }
            ListedBucket::Unavailable(bucket) => Ok(Some(Self { json, failure: Some(bucket.error) })),
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
    /// Returns `None` if the bucket was just deleted.
    async fn of(intake: &Intake, bucket: Bucket) -> Option<Self> {
        match intake.in_current(bucket, async |bucket| BucketState::read(&bucket).await).await {
            (_, Ok(state)) => Some(Self::State(Box::new(state))),
            (_, Err(BucketError::Gone)) => None,
            (bucket, Err(error)) => {
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
