//! Lists whose pages fail to come.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use dripfeed_client::{Client, Pages, Retries};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// What the server does when it is asked for the second page, each time.
#[derive(Clone, Copy)]
enum Second {
    Fails,
    Hangs,
    Comes,
}

struct Server {
    second: [Second; 2],
    asked: Sender<()>,
    times: AtomicUsize,
}

/// A client of a server with a list of two pages, and what is said when the second one is asked for.
async fn client_of(second: [Second; 2]) -> (Client, Receiver<()>) {
    let (asked, is_asked) = channel(second.len());
    let server = Server { second, asked, times: AtomicUsize::new(0) };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let routes = Router::new().route("/list", get(answer)).with_state(Arc::new(server));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (Client::builder(url).retries(Retries::NONE).build().unwrap(), is_asked)
}

async fn answer(State(server): State<Arc<Server>>, Query(query): Query<Map<String, Value>>) -> Response {
    if query.get("cursor").is_none() {
        return Json(json!({"items": [1], "next": "second"})).into_response();
    }
    server.asked.try_send(()).unwrap();
    match server.second[server.times.fetch_add(1, Ordering::Relaxed)] {
        Second::Fails => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Second::Hangs => pending().await,
        Second::Comes => Json(json!({"items": [2], "next": null})).into_response(),
    }
}

async fn page(pages: &mut Pages<'_>) -> Option<Vec<Value>> {
    pages.next().await.unwrap()
}

#[tokio::test]
async fn after_an_error_the_list_goes_on_with_the_page_that_failed() {
    let (client, _asked) = client_of([Second::Fails, Second::Comes]).await;
    let mut pages = client.list("/list", &[], 10);
    assert_eq!(page(&mut pages).await, Some(vec![json!(1)]));
    assert!(pages.next().await.is_err());
    assert_eq!(page(&mut pages).await, Some(vec![json!(2)]), "a list that failed hasn't ended");
    assert_eq!(page(&mut pages).await, None);
}

#[tokio::test]
async fn a_page_that_nobody_waited_for_is_the_next_one() {
    let (client, mut asked) = client_of([Second::Hangs, Second::Comes]).await;
    let mut pages = client.list("/list", &[], 10);
    assert_eq!(page(&mut pages).await, Some(vec![json!(1)]));
    tokio::select! {
        _ = pages.next() => unreachable!("it isn't answered"),
        _ = asked.recv() => {}
    }
    assert_eq!(page(&mut pages).await, Some(vec![json!(2)]), "a page that was given up hasn't been read");
    assert_eq!(page(&mut pages).await, None);
}
