//! The libraries of the floor without Redis: what no intake and no processor made of them can exceed.

use axum::Router;
use axum::body::Bytes;
use axum::response::Html;
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use futures::future::try_join_all;
use http::{StatusCode, Uri};
use tokio::net::TcpListener;

use crate::processor::{call, client};

const CONNECTIONS: usize = 200;
const BODY: Bytes = Bytes::from_static(&[b'x'; 256]);

/// Answers each POST with its body.
pub(crate) async fn echo() -> anyhow::Result<()> {
    serve(Router::new().route("/jobs", post(async |body: Bytes| body))).await
}

/// Answers each GET with a file, read each time.
pub(crate) async fn file(path: &str) -> anyhow::Result<()> {
    let path = path.to_owned();
    let read = async move || tokio::fs::read(&path).await.map(Html).map_err(|_| StatusCode::NOT_FOUND);
    serve(Router::new().route("/", get(read))).await
}

async fn serve(app: Router) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("listening on http://{}", listener.local_addr()?);
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    Ok(axum::serve(listener, app).await?)
}

/// Calls the upstream without a pause, until it is killed.
pub(crate) async fn calls(upstream: Uri) -> anyhow::Result<()> {
    let http = client();
    eprintln!("ready");
    let callers = (0..CONNECTIONS).map(|_| async {
        loop {
            call(&http, upstream.clone(), BODY).await?;
        }
    });
    try_join_all::<_>(callers).await.map(|ended: Vec<()>| drop(ended))
}
