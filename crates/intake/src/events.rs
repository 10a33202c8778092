//! `GET /v1/events`: the state of all buckets once a second, as server-sent events.
//!
//! All streams share one read of the buckets per second (`readings`). Without a stream, buckets are not read.

mod frame;
mod stream;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use dripfeed_auth::{LimitedCaller, Read};
use dripfeed_http::event_stream;
use http::HeaderMap;
use serde::Deserialize;

use self::frame::Frame;
use self::stream::EventStream;
use crate::intake::Intake;
use crate::openapi::responses;
use crate::problem::{Code, Problem};
use crate::request::access::Allowed;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{self, Params};

/// Buckets whose whole state one stream may ask for.
const MOST_STATES: usize = 64;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// Buckets whose full state is in each frame: names separated by commas, at most 64.
    #[param(pattern = "^[A-Za-z0-9_.,-]*$")]
    states: Option<String>,
}

/// Streams the state of the buckets that the caller may access, once a second, as server-sent events.
///
/// Each event has the type `frame` and JSON data. The stream ends when the intake shuts down or the key is revoked.
#[utoipa::path(
    get, path = "/v1/events", tag = "buckets", params(EventsQuery),
    operation_id = "stream_events",
    responses(
        (status = 200, description = "Server-sent events, one for each frame",
            content_type = "text/event-stream", body = Frame<'static>),
        responses::OfEvents,
    )
)]
pub(crate) async fn events(
    State(intake): State<Intake>,
    Allowed { caller, .. }: Allowed<Read>,
    Params(query): Params<EventsQuery>,
    headers: HeaderMap,
    ClientIp(address): ClientIp,
) -> Result<Response, Problem> {
    let states = states(query.states.as_deref())?;
    let permit = intake.streams().enter(LimitedCaller::new(caller.id(), address)).ok_or_else(|| {
        Problem::new(
            Code::ManyStreams,
            "close other streams, or raise intake.max_event_streams or intake.max_event_streams_per_caller",
        )
    })?;
    let stream = EventStream::new(intake, headers, states, permit).frames();
    Ok(event_stream(Body::from_stream(stream)))
}

fn states(text: Option<&str>) -> Result<Vec<String>, Problem> {
    let names = text.unwrap_or_default().split(',').filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(str::to_owned).collect();
    if names.len() > MOST_STATES {
        return Err(pagination::bad("states", format!("at most {MOST_STATES} buckets")));
    }
    Ok(names)
}
