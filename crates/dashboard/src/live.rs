//! Live updates of page parts, once a second, as server-sent events.
//!
//! Each frame of the API's events is rendered, and only changed parts of the page are sent. So the same function
//! renders a part at first and for updates, and an idle bucket costs nothing.

pub(crate) mod event_buffer;
pub(crate) mod list_refresh;
pub(crate) mod live_rates;
pub(crate) mod redis_read_timer;
pub(crate) mod watcher;

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use axum::body::{Body, BodyDataStream};
use axum::response::Response;
use bytes::Bytes;
use dripfeed_http::event_stream;
use futures::future::BoxFuture;
use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use maud::Markup;
use serde_json::json;

use self::event_buffer::EventBuffer;
use self::live_rates::LiveRates;
use self::watcher::{SIGNED_OUT, refused};
use crate::dashboard::Dashboard;
use crate::model::bucket::Frame;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;
use crate::web::session::SessionEnd;

/// An element of the page, by its id.
pub(crate) type Part = (String, Markup);

/// The parts of a bucket's page for a frame without the bucket: none if it can't be read now, `None` if it was removed.
pub(crate) fn without(frame: &Frame, bucket: &String) -> Option<Vec<Part>> {
    frame.unavailable.contains(bucket).then(Vec::new)
}

/// Renders a frame. Returns `None` if the page has other elements now and must be reloaded.
type Draw = Box<dyn Fn(Arc<Frame>) -> BoxFuture<'static, Option<Vec<Part>>> + Send>;

/// The events of a page, until it is closed, or why there are none. `states`: the buckets whose whole state is
/// rendered.
pub(crate) async fn events<D: Future<Output = Option<Vec<Part>>> + Send + 'static>(
    page: &Dashboard,
    visitor: &Visitor,
    states: &[String],
    draw: impl Fn(Arc<Frame>) -> D + Send + 'static,
) -> Response {
    match frames(page, visitor, states).await {
        Ok(frames) => stream(Live {
            page: page.clone(),
            visitor: visitor.clone(),
            is_of_buckets: !states.is_empty(),
            frames,
            is_over: false,
            read: EventBuffer::default(),
            draw: Box::new(move |frame| draw(frame).boxed()),
            rates: LiveRates::default(),
            sent: HashMap::new(),
        }),
        Err(failure) => refused(&failure),
    }
}

async fn frames(page: &Dashboard, visitor: &Visitor, states: &[String]) -> Result<BodyDataStream, Failure> {
    let path = format!("/v1/events?states={}", escaped(&states.join(",")));
    let (parts, body) = page.api().send(visitor, Method::GET, &path, None).await?.into_parts();
    if parts.status.is_success() {
        return Ok(body.into_data_stream());
    }
    let problem = body.collect().await.map_err(|_| Failure::unreadable())?.to_bytes();
    Err(Failure::of(parts.status, &problem))
}

fn stream(live: Live) -> Response {
    event_stream(Body::from_stream(live.events()))
}

/// Whether the visitor's key is no longer valid, for example because it was revoked.
async fn is_refused(page: &Dashboard, visitor: &Visitor) -> bool {
    let answer = page.api().answer(visitor, Method::GET, "/v1/key", None).await;
    answer.is_ok_and(|(status, _)| status == StatusCode::UNAUTHORIZED)
}

struct Live {
    page: Dashboard,
    visitor: Visitor,
    /// Whether the page shows the whole state of buckets.
    is_of_buckets: bool,
    frames: BodyDataStream,
    is_over: bool,
    read: EventBuffer,
    draw: Draw,
    rates: LiveRates,
    /// Hashes of the parts that the page shows, by id.
    sent: HashMap<String, u64>,
}

impl Live {
    fn events(self) -> impl Stream<Item = Result<Bytes, axum::Error>> {
        stream::unfold(self, |mut live| async move {
            if live.is_over {
                return None;
            }
            let event = match live.frame().await {
                // Checked each second, as frames come.
                Some(Ok(_)) if live.is_signed_out() => Ok(live.last_event()),
                Some(Ok(mut frame)) => {
                    live.rates.take(&mut frame);
                    Ok(live.frame_event(frame).await)
                }
                Some(Err(error)) => Err(error),
                // The stream also ends when the intake stops. Then the browser reconnects.
                None if is_refused(&live.page, &live.visitor).await => Ok(live.last_event()),
                None => return None,
            };
            Some((event, live))
        })
    }

    fn is_signed_out(&self) -> bool {
        self.visitor.session_end.is_some_and(SessionEnd::has_passed)
    }

    fn last_event(&mut self) -> Bytes {
        self.is_over = true;
        Bytes::from_static(SIGNED_OUT.as_bytes())
    }

    /// The next frame of the API. `None` if the stream has ended.
    async fn frame(&mut self) -> Option<Result<Frame, axum::Error>> {
        loop {
            while let Some(data) = self.read.data() {
                if let Ok(frame) = serde_json::from_slice(&data) {
                    return Some(Ok(frame));
                }
            }
            match self.frames.next().await? {
                Ok(bytes) => self.read.push(&bytes),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    async fn frame_event(&mut self, frame: Frame) -> Bytes {
        let frame = Arc::new(frame);
        let Some(parts) = (self.draw)(Arc::clone(&frame)).await else {
            return Bytes::from_static(b"event: reload\ndata:\n\n");
        };
        let changed: Vec<(String, String)> = parts
            .into_iter()
            .map(|(id, part)| (id, part.into_string()))
            .filter(|(id, part)| self.has_changed(id, part))
            .collect();
        // Parts that can't be read now stay unchanged.
        let is_unread = self.is_of_buckets && frame.states.is_empty() && !frame.unavailable.is_empty();
        let event = json!({ "at": frame.at, "unread": is_unread, "parts": changed });
        Bytes::from(format!("event: frame\ndata: {event}\n\n"))
    }

    fn has_changed(&mut self, id: &str, part: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        part.hash(&mut hasher);
        let hash = hasher.finish();
        self.sent.insert(id.to_owned(), hash) != Some(hash)
    }
}
