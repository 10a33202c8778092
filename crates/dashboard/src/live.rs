//! Parts of a page that change, once a second, as server-sent events.
//!
//! The events of the API come in, the parts of the page that look otherwise than before go out. So a page has one way
//! to draw itself, and a bucket in which nothing happens costs nothing.

mod pulse;

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

use axum::body::{Body, BodyDataStream};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt as _, stream};
use http::{Method, header};
use maud::Markup;
use serde_json::json;

use self::pulse::Pulse;
use crate::dashboard::Dashboard;
use crate::model::bucket::Frame;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// An element of the page, by its id.
pub(crate) type Part = (String, Markup);

/// Draws a frame. None: the page has other elements now, and is to be loaded again.
type Draw = Box<dyn Fn(&Frame) -> Option<Vec<Part>> + Send>;

/// Events for as long as the visitor looks. `states`: the buckets whose whole state is drawn.
///
/// # Errors
/// When the API refuses a stream.
pub(crate) async fn events(
    page: &Dashboard,
    visitor: &Visitor,
    states: &[String],
    draw: impl Fn(&Frame) -> Option<Vec<Part>> + Send + 'static,
) -> Result<Response, Failure> {
    let path = format!("/v1/events?states={}", escaped(&states.join(",")));
    let answer = page.api().send(visitor, Method::GET, &path, None).await?;
    if !answer.status().is_success() {
        return Err(Failure::new(answer.status(), "No live view", "too many pages are open"));
    }
    let drawn = Live {
        frames: answer.into_body().into_data_stream(),
        read: BytesMut::new(),
        draw: Box::new(draw),
        pulse: Pulse::default(),
        sent: HashMap::new(),
    };
    let fields = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((fields, Body::from_stream(drawn.events())).into_response())
}

struct Live {
    frames: BodyDataStream,
    /// An event of which the end hasn't come yet.
    read: BytesMut,
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
                    Ok(live.event(&frame))
                }
                Err(error) => Err(error),
            };
            Some((event, live))
        })
    }

    /// The next frame of the API. None: the stream has ended.
    async fn frame(&mut self) -> Option<Result<Frame, axum::Error>> {
        loop {
            if let Some(end) = self.read.windows(2).position(|two| two == b"\n\n") {
                let event = self.read.split_to(end + 2);
                let mut lines = event[..].split(|byte| *byte == b'\n');
                let data = lines.find_map(|line| line.strip_prefix(b"data: "));
                if let Some(frame) = data.and_then(|data| serde_json::from_slice(data).ok()) {
                    return Some(Ok(frame));
                }
                continue;
            }
            match self.frames.next().await? {
                Ok(bytes) => self.read.extend_from_slice(&bytes),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    fn event(&mut self, frame: &Frame) -> Bytes {
        let Some(parts) = (self.draw)(frame) else { return Bytes::from_static(b"event: reload\ndata:\n\n") };
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
