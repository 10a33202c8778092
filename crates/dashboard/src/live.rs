//! Live updates of page parts, once a second, as server-sent events.
//!
//! API events come in, and the parts of the page that changed go out. So each part is rendered by one function, and an
//! idle bucket costs nothing.

pub(crate) mod event_buffer;
pub(crate) mod pulse;
pub(crate) mod redis_turn;
pub(crate) mod reread;

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use axum::body::{Body, BodyDataStream};
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use http::request::Parts;
use http::{Method, StatusCode, header};
use http_body_util::BodyExt as _;
use maud::Markup;
use serde_json::json;

use self::event_buffer::EventBuffer;
use self::pulse::Pulse;
use crate::dashboard::Dashboard;
use crate::model::bucket::Frame;
use crate::parts::layout;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;
use crate::web::session::SessionEnd;
use crate::web::visitor::recognise;

const SIGNED_OUT: &str = "event: signed-out\ndata:\n\n";

/// An element of the page, by its id.
pub(crate) type Part = (String, Markup);

/// Where a frame doesn't have a bucket: nothing changes while that can't be read, or else it is gone.
pub(crate) fn without(frame: &Frame, bucket: &String) -> Option<Vec<Part>> {
    frame.unavailable.contains(bucket).then(Vec::new)
}

/// Draws a frame. None: the page has other elements now, and is to be loaded again.
type Draw = Box<dyn Fn(Arc<Frame>) -> BoxFuture<'static, Option<Vec<Part>>> + Send>;

/// Events for as long as the visitor looks, or why there are none. `states`: the buckets whose whole state is drawn.
pub(crate) async fn events<D: Future<Output = Option<Vec<Part>>> + Send + 'static>(
    page: &Dashboard,
    visitor: &Visitor,
    states: &[String],
    draw: impl Fn(Arc<Frame>) -> D + Send + 'static,
) -> Response {
    match frames(page, visitor, states).await {
        Ok(frames) => stream(Live {
            frames,
            session_end: visitor.session_end,
            read: EventBuffer::default(),
            draw: Box::new(move |frame| draw(frame).boxed()),
            pulse: Pulse::default(),
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
    answer(Body::from_stream(live.events()))
}

/// An event, as scripts don't see how a stream was refused. One that can't be served now is tried again anyway.
fn refused(failure: &Failure) -> Response {
    match failure.status {
        StatusCode::UNAUTHORIZED => answer(Body::from(SIGNED_OUT)),
        status if status.is_server_error() => layout::failed(None, failure),
        _ => answer(Body::from(format!("event: refused\ndata: {}\n\n", json!(failure.title)))),
    }
}

fn answer(events: Body) -> Response {
    let fields = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (fields, events).into_response()
}

/// A visitor who follows a page.
pub(crate) struct Watcher(pub(crate) Visitor);

impl FromRequestParts<Dashboard> for Watcher {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, page: &Dashboard) -> Result<Self, Response> {
        recognise(parts, page).await.map(Self).map_err(|failure| refused(&failure))
    }
}

struct Live {
    frames: BodyDataStream,
    session_end: Option<SessionEnd>,
    read: EventBuffer,
    draw: Draw,
    pulse: Pulse,
    /// Hashes of what the page shows, by id.
    sent: HashMap<String, u64>,
}

impl Live {
    fn events(self) -> impl Stream<Item = Result<Bytes, axum::Error>> {
        stream::unfold(self, |mut live| async move {
            let event = match live.frame().await? {
                // A frame comes each second.
                Ok(_) if live.is_signed_out() => Ok(live.last_event()),
                Ok(mut frame) => {
                    live.pulse.take(&mut frame);
                    Ok(live.event(frame).await)
                }
                Err(error) => Err(error),
            };
            Some((event, live))
        })
    }

    fn is_signed_out(&self) -> bool {
        self.session_end.is_some_and(SessionEnd::has_come)
    }

    fn last_event(&mut self) -> Bytes {
        (self.frames, self.read) = (Body::empty().into_data_stream(), EventBuffer::default());
        Bytes::from_static(SIGNED_OUT.as_bytes())
    }

    /// The next frame of the API. None: the stream has ended.
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

    async fn event(&mut self, frame: Frame) -> Bytes {
        let frame = Arc::new(frame);
        let drawn = (self.draw)(Arc::clone(&frame));
        let Some(parts) = drawn.await else { return Bytes::from_static(b"event: reload\ndata:\n\n") };
        let changed: Vec<(String, String)> = parts
            .into_iter()
            .map(|(id, part)| (id, part.into_string()))
            .filter(|(id, part)| self.is_new(id, part))
            .collect();
        Bytes::from(format!("event: frame\ndata: {}\n\n", json!({ "at": frame.at, "parts": changed })))
    }

    fn is_new(&mut self, id: &str, part: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        part.hash(&mut hasher);
        let hash = hasher.finish();
        self.sent.insert(id.to_owned(), hash) != Some(hash)
    }
}
