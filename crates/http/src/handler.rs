//! A type for all handlers.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;

/// A handler of requests with its type erased, so that axum's generic code is compiled once, and not for each handler.
#[derive(Clone)]
pub struct AnyHandler<S>(Arc<HandlerFn<S>>);

type HandlerFn<S> = dyn Fn(Request, S) -> ResponseFuture + Send + Sync;
type ResponseFuture = Pin<Box<dyn Future<Output = Response> + Send>>;

impl<S> AnyHandler<S> {
    pub fn new<T, H: Handler<T, S, Future = ResponseFuture>>(handler: H) -> Self {
        Self(Arc::new(move |request, state| handler.clone().call(request, state)))
    }
}

impl<S: Clone + 'static> Handler<(), S> for AnyHandler<S> {
    type Future = ResponseFuture;

    fn call(self, request: Request, state: S) -> ResponseFuture {
        (self.0)(request, state)
    }
}

impl<S> fmt::Debug for AnyHandler<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AnyHandler")
    }
}
