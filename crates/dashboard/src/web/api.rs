//! The public API, called in this process.

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::response::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::model::List;
use crate::web::failure::Failure;
use crate::web::freshness::Freshness;
use crate::web::identity::Visitor;

const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// Percent-encodes a part of a path or query.
pub(crate) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, IN_PATH).to_string()
}

pub(crate) struct Api {
    routes: Router,
    freshness: Freshness,
}

impl Api {
    pub(crate) fn new(routes: Router) -> Self {
        Self { routes, freshness: Freshness::default() }
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, visitor: &Visitor, path: &str) -> Result<T, Failure> {
        Ok(self.read(visitor, path, None).await?.1)
    }

    /// As [`Api::get`], with the `ETag` of the answer.
    pub(crate) async fn get_version<T: DeserializeOwned>(
        &self,
        visitor: &Visitor,
        path: &str,
    ) -> Result<(T, Option<HeaderValue>), Failure> {
        let (parts, read) = self.read(visitor, path, None).await?;
        Ok((read, parts.headers.get(header::ETAG).cloned()))
    }

    /// The items of all pages of a list, which may be a second old. `path` must have no query.
    pub(crate) async fn list<T: DeserializeOwned>(&self, visitor: &Visitor, path: &str) -> Result<Vec<T>, Failure> {
        let (mut all, mut from) = (Vec::new(), String::new());
        loop {
            let max_age = self.freshness.max_age();
            let (_, page): (_, List<T>) = self.read(visitor, &format!("{path}{from}"), max_age).await?;
            all.extend(page.items);
            let Some(next) = page.next else { return Ok(all) };
            from = format!("?cursor={}", escaped(&next));
        }
    }

    /// A call that changes something. Returns the answer's body.
    pub(crate) async fn call(
        &self,
        visitor: &Visitor,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Bytes, Failure> {
        Ok(succeeded(self.send(visitor, method, path, body).await?).await?.1)
    }

    /// Changes a resource if it has this `version`, or any. Returns false if it has another one, and isn't changed.
    pub(crate) async fn change(
        &self,
        visitor: &Visitor,
        path: &str,
        version: Option<HeaderValue>,
        body: &Value,
    ) -> Result<bool, Failure> {
        let mut request = request(Method::PATCH, path, Some("application/json"), body.to_string().into())?;
        request.headers_mut().extend(version.map(|version| (header::IF_MATCH, version)));
        let (parts, body) = received(self.made(visitor, request).await).await?;
        match parts.status {
            StatusCode::PRECONDITION_FAILED => Ok(false),
            status if status.is_success() => Ok(true),
            status => Err(Failure::of(status, &body)),
        }
    }

    /// As [`Api::call`], with a body of another kind than JSON.
    pub(crate) async fn submit(
        &self,
        visitor: &Visitor,
        path: &str,
        content_type: Option<&str>,
        body: String,
    ) -> Result<Bytes, Failure> {
        let request = request(Method::POST, path, content_type, body.into())?;
        Ok(succeeded(self.made(visitor, request).await).await?.1)
    }

    /// Returns any answer, also a refusal.
    pub(crate) async fn answer(
        &self,
        visitor: &Visitor,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Bytes), Failure> {
        let (parts, body) = received(self.send(visitor, method, path, body).await?).await?;
        Ok((parts.status, body))
    }

    /// Returns any answer, with its body as a stream.
    pub(crate) async fn send(
        &self,
        visitor: &Visitor,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response<Body>, Failure> {
        let content_type = body.map(|_| "application/json");
        let body = Body::from(body.map(Value::to_string).unwrap_or_default());
        Ok(self.made(visitor, request(method, path, content_type, body)?).await)
    }

    /// `max_age`: the maximum age of the data.
    async fn read<T: DeserializeOwned>(
        &self,
        visitor: &Visitor,
        path: &str,
        max_age: Option<HeaderValue>,
    ) -> Result<(Parts, T), Failure> {
        let mut request = request(Method::GET, path, None, Body::empty())?;
        request.headers_mut().extend(max_age.map(|age| (header::CACHE_CONTROL, age)));
        let (parts, body) = succeeded(self.made(visitor, request).await).await?;
        let read = serde_json::from_slice(&body).map_err(|error| unreadable(path, &error))?;
        Ok((parts, read))
    }

    async fn made(&self, visitor: &Visitor, mut request: Request<Body>) -> Response<Body> {
        visitor.sign(&mut request);
        let changes = request.method() != Method::GET;
        let answer = match self.routes.clone().oneshot(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        if changes {
            self.freshness.note_change();
        }
        answer
    }
}

async fn received(answer: Response<Body>) -> Result<(Parts, Bytes), Failure> {
    let (parts, body) = answer.into_parts();
    Ok((parts, body.collect().await.map_err(|_| Failure::unreadable())?.to_bytes()))
}

/// Returns a successful answer, otherwise its problem.
async fn succeeded(answer: Response<Body>) -> Result<(Parts, Bytes), Failure> {
    let (parts, body) = received(answer).await?;
    if parts.status.is_success() { Ok((parts, body)) } else { Err(Failure::of(parts.status, &body)) }
}

fn unreadable(path: &str, error: &serde_json::Error) -> Failure {
    tracing::error!(%error, path, "the dashboard can't parse a response of the API");
    Failure::unreadable()
}

fn request(method: Method, path: &str, content_type: Option<&str>, body: Body) -> Result<Request<Body>, Failure> {
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().map_err(|_| Failure::not_found())?;
    if let Some(content_type) = content_type {
        let invalid = |_| Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid content type", "use a media type");
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::try_from(content_type).map_err(invalid)?);
    }
    Ok(request)
}
