//! An upstream that takes calls of dripfeed alone: it verifies their signature with the library of Standard Webhooks.
//! `SECRET=whsec_… cargo run -p dripfeed-client --example receive`, with the bucket's `signing_secret`.
#![expect(clippy::print_stdout, reason = "it shows what it receives")]

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use standardwebhooks::Webhook;

async fn receive(State(webhook): State<Arc<Webhook>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    // Over the bytes as they came: JSON that was read and written again is another text.
    if let Err(error) = webhook.verify(&body, &headers) {
        println!("refused: {error}");
        // dripfeed dead-letters the job: what has no valid signature won't have one later.
        return StatusCode::UNAUTHORIZED;
    }
    // The same for all attempts of a job: the place to drop one that was handled already.
    let id = headers.get("webhook-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
    println!("verified {id}: {}", String::from_utf8_lossy(&body));
    StatusCode::NO_CONTENT
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let webhook = Arc::new(Webhook::new(&std::env::var("SECRET")?)?);
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:9000".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, Router::new().route("/", post(receive)).with_state(webhook)).await?)
}
