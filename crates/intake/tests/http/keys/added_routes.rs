//! Routes that are added to an intake, as `dripfeed dev` adds those of its upstream, refuse as those of the API do.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::put;
use dripfeed_auth::{Operate, Scope};
use dripfeed_intake::{EntryPoint, Intake, Problem, read_json};
use http::HeaderMap;
use serde::Deserialize;

use super::key;
use crate::harness::{Answer, Harness, ask, request};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    mode: u8,
}

async fn change(State(intake): State<Intake>, headers: HeaderMap, body: Bytes) -> Result<String, Problem> {
    let caller = intake.authorize::<Operate>(&headers).await?;
    let Change { mode } = read_json(&body)?;
    Ok(format!("{mode} of {}", caller.id().unwrap_or_default()))
}

async fn put_as(harness: &Harness, headers: &[(&str, &str)], body: &'static str) -> Answer {
    let added = Router::new().route("/v1/added", put(change)).with_state(harness.intake.clone());
    let intake = harness.intake.clone();
    let entry_point = EntryPoint::new(intake.clone(), move || intake.api_with(added));
    ask(entry_point, request("PUT /v1/added", headers, body)).await
}

#[tokio::test]
async fn a_route_that_is_added_refuses_as_those_of_the_api_do() {
    const CHANGE: &str = r#"{"mode":7}"#;
    let keys = vec![key("reader", &[Scope::Read], None), key("operator", &[Scope::Operate], None)];
    let harness = Harness::with(Vec::new(), keys, &[]).await;
    let unknown = put_as(&harness, &[], CHANGE).await;
    unknown.refuses(401, "unauthenticated");
    assert_eq!(unknown.header("www-authenticate"), Some("Bearer realm=\"dripfeed\""));
    put_as(&harness, &[("dripfeed-key", "reader")], CHANGE).await.refuses(403, "forbidden");
    let operator = ("dripfeed-key", "operator");
    // Whatever it sends.
    put_as(&harness, &[operator, ("origin", "http://evil.example")], "{").await.refuses(403, "forbidden");
    put_as(&harness, &[operator], "{").await.refuses(400, "bad_json");
    for (body, member) in
        [(r#"{"mode":"fast"}"#, "mode"), (r#"{"mode":1,"mode":2}"#, "mode"), (r#"{"more":1}"#, "more")]
    {
        let refused = put_as(&harness, &[operator], body).await.refuses(422, "bad_member");
        assert_eq!(refused["member"], member, "{refused}");
    }
    let changed = put_as(&harness, &[operator], CHANGE).await;
    assert_eq!((changed.status.as_u16(), &changed.body[..]), (200, &b"7 of operator"[..]));
}
