//! Handlers of one type.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;

/// A function that handles requests. The compiler makes axum's code around a handler again for each type, which takes
/// it longer than the handler itself: so handlers get one type.
#[derive(Clone)]
pub struct AnyHandler<S>(Arc<Handling<S>>);

type Handling<S> = dyn Fn(Request, S) -> Answering + Send + Sync;
type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

impl<S> AnyHandler<S> {
    pub fn new<T, H: Handler<T, S, Future = Answering>>(handler: H) -> Self {
        Self(Arc::new(move |request, state| handler.clone().call(request, state)))
    }
}

impl<S: Clone + 'static> Handler<(), S> for AnyHandler<S> {
    type Future = Answering;

    fn call(self, request: Request, state: S) -> Answering {
        (self.0)(request, state)
    }
}

impl<S> fmt::Debug for AnyHandler<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AnyHandler")
    }
}
