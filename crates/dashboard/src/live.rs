//! Live updates of page parts, once a second, as server-sent events.
//!
//! API events come in, and the parts of the page that changed go out. So each part is rendered by one function, and an
//! idle bucket costs nothing.

pub(crate) mod event_buffer;
pub(crate) mod pulse;

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use axum::body::{Body, BodyDataStream};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt as _, Stream, StreamExt as _, stream};
use http::{Method, header};
use maud::Markup;
use serde_json::json;

use self::event_buffer::EventBuffer;
use self::pulse::Pulse;
use crate::dashboard::Dashboard;
use crate::model::bucket::Frame;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// An element of the page, by its id.
pub(crate) type Part = (String, Markup);

/// Draws a frame. None: the page has other elements now, and is to be loaded again.
type Draw = Box<dyn Fn(&Frame) -> BoxFuture<'static, Option<Vec<Part>>> + Send>;

/// Events for as long as the visitor looks. `states`: the buckets whose whole state is drawn.
///
/// # Errors
/// When the API refuses a stream.
pub(crate) async fn events<D: Future<Output = Option<Vec<Part>>> + Send + 'static>(
    page: &Dashboard,
    visitor: &Visitor,
    states: &[String],
    draw: impl Fn(&Frame) -> D + Send + 'static,
) -> Result<Response, Failure> {
    let path = format!("/v1/events?states={}", escaped(&states.join(",")));
    let answer = page.api().send(visitor, Method::GET, &path, None).await?;
    if !answer.status().is_success() {
        return Err(Failure::new(answer.status(), "No live view", "too many pages are open"));
    }
    let drawn = Live {
        frames: answer.into_body().into_data_stream(),
        read: EventBuffer::default(),
        draw: Box::new(move |frame: &Frame| draw(frame).boxed()),
        pulse: Pulse::default(),
        sent: HashMap::new(),
    };
    let fields = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((fields, Body::from_stream(drawn.events())).into_response())
}

struct Live {
    frames: BodyDataStream,
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
                Ok(mut frame) => {
                    live.pulse.take(&mut frame);
                    Ok(live.event(&frame).await)
                }
                Err(error) => Err(error),
            };
            Some((event, live))
        })
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

    async fn event(&mut self, frame: &Frame) -> Bytes {
        let drawn = (self.draw)(frame);
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
