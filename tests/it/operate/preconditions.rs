//! Two people who change the same thing: with `If-Match`, the second one changes nothing.

use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::service::Service;
use futures::future::join_all;
use http::Method;
use serde_json::{Value, json};

const BUCKET: &str = "/v1/buckets/b";
const SCHEDULE: &str = "/v1/buckets/b/schedules/nightly";
const RULES: &str = "/v1/services/shop/rules";
const CONFIGURATION: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = 100\n";

/// Which condition a change has, if any.
type Condition<'c> = Option<(&'c str, &'c str)>;

async fn send(client: &Client, method: Method, path: &str, condition: Condition<'_>, body: &Value) -> ClientResponse {
    let request = client.request(method, path);
    let request = match condition {
        Some((header, tag)) => request.header(header, tag),
        None => request,
    };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    client.call(request, body).await.expect("an answer")
}

fn tag(answer: &ClientResponse) -> String {
    answer.headers.get("etag").unwrap_or_else(|| panic!("no tag: {answer:?}")).to_str().expect("text").to_owned()
}

/// It is refused, names this tag, and says what to do.
fn assert_refused(answer: &ClientResponse, current: &str) {
    let (code, detail) = (answer.text("code"), answer.text("detail"));
    assert_eq!((answer.status, code.as_str()), (412, "precondition_failed"), "{answer:?}");
    assert!(detail.contains(current) && detail.contains("GET it"), "{current}: {detail}");
}

#[tokio::test]
async fn settings_are_changed_only_as_they_were_seen() {
    let service = Service::new(CONFIGURATION).await;
    let intake = service.intake().await;
    let client = intake.client();
    let get = async |path: &str| client.get(path).await.expect("an answer");
    let patch = async |condition, capacity: u64| {
        send(&client, Method::PATCH, BUCKET, condition, &json!({ "capacity": capacity })).await
    };

    let first = tag(&get(BUCKET).await);
    assert_eq!(tag(&get("/v1/buckets/b/settings").await), first);
    let changed = patch(Some(("if-match", &first)), 7).await;
    let second = tag(&changed);
    assert_eq!((changed.status, second == first, tag(&get(BUCKET).await) == second), (200, false, true));

    assert_refused(&patch(Some(("if-match", &first)), 8).await, &second);
    assert_refused(&patch(Some(("if-match", "W/\"0\"")), 8).await, &second);
    assert_eq!(patch(Some(("if-none-match", "*")), 8).await.status, 412);
    assert_eq!(get(BUCKET).await.number("capacity"), 7);

    // Any of several, any at all, and without a condition.
    let several = format!("{first}, {second}");
    assert_eq!(patch(Some(("if-match", &several)), 9).await.status, 200);
    assert_eq!(patch(Some(("if-match", "*")), 10).await.status, 200);
    assert_eq!(patch(None, 11).await.status, 200);
    // A pause is a change that may matter to who changes a setting.
    let before = tag(&get(BUCKET).await);
    assert_eq!(client.post("/v1/buckets/b/pause", "").await.expect("an answer").status, 200);
    assert_refused(&patch(Some(("if-match", &before)), 12).await, &tag(&get(BUCKET).await));
    // What is wrong with a change is reported as without a condition.
    let current = tag(&get(BUCKET).await);
    let bad = send(&client, Method::PATCH, BUCKET, Some(("if-match", &current)), &json!({ "capacity": 0 })).await;
    assert_eq!((bad.status, tag(&get(BUCKET).await)), (422, current), "{bad:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_one_of_concurrent_changes_with_the_same_version_succeeds() {
    let service = Service::new(CONFIGURATION).await;
    let (here, there) = (service.intake().await, service.intake().await);
    let clients = [here.client(), there.client()];
    let schedule = |minutes: u64| json!({ "every": format!("{minutes}m"), "job": { "body": "x" } });
    let rules = |rate: u64| {
        let tiers = json!([{ "kind": "bucket", "rate": format!("{rate}/s") }]);
        json!({ "policies": [{ "id": "all", "tiers": tiers }] })
    };
    let settings = |capacity: u64| json!({ "capacity": capacity });
    for (path, content) in [(SCHEDULE, schedule(1)), (RULES, rules(1))] {
        assert_eq!(send(&clients[0], Method::PUT, path, None, &content).await.status, 200, "{path}");
    }
    type Change<'c> = &'c (dyn Fn(u64) -> Value + Sync);
    let changes: [(Method, &str, Change<'_>); 3] =
        [(Method::PATCH, BUCKET, &settings), (Method::PUT, SCHEDULE, &schedule), (Method::PUT, RULES, &rules)];
    for (method, path, change) in changes {
        for round in 0..5 {
            let seen = tag(&clients[0].get(path).await.expect("an answer"));
            let calls = (0..8).map(|who| {
                let (method, seen, content) = (method.clone(), &seen, change(round * 8 + who + 10));
                let client = &clients[usize::try_from(who % 2).expect("small")];
                async move { send(client, method, path, Some(("if-match", seen)), &content).await }
            });
            let answers = join_all(calls).await;
            let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
            let made: Vec<&ClientResponse> = answers.iter().filter(|answer| answer.status == 200).collect();
            assert!(
                made.len() == 1 && statuses.iter().all(|status| [200, 412].contains(status)),
                "{path}: {statuses:?}"
            );
            let current = tag(&clients[0].get(path).await.expect("an answer"));
            if path != RULES || statuses[0] == 200 {
                assert_eq!(tag(made[0]), current, "{path}");
            }
        }
    }
}

#[tokio::test]
async fn schedules_and_rules_are_replaced_and_deleted_only_as_they_were_seen() {
    let service = Service::new(CONFIGURATION).await;
    let intake = service.intake().await;
    let client = intake.client();
    let rules = |rate: &str| json!({ "policies": [{ "id": "all", "tiers": [{ "kind": "bucket", "rate": rate }] }] });
    let schedule = |every: &str| json!({ "every": every, "job": { "body": "x" } });
    for (path, [one, two, three]) in
        [(SCHEDULE, ["1m", "2m", "3m"].map(schedule)), (RULES, ["1/s", "2/s", "3/s"].map(rules))]
    {
        let put = async |condition: Condition<'_>, content: &Value| {
            send(&client, Method::PUT, path, condition, content).await
        };
        let delete =
            async |condition: Condition<'_>| send(&client, Method::DELETE, path, condition, &Value::Null).await;
        let missing = put(Some(("if-match", "*")), &one).await;
        assert_eq!((missing.status, missing.text("code").as_str()), (412, "precondition_failed"), "{missing:?}");
        let created = put(Some(("if-none-match", "*")), &one).await;
        assert_eq!(created.status, 200, "{created:?}");
        let first = tag(&created);
        let exists = put(Some(("if-none-match", "*")), &two).await;
        assert_eq!((exists.status, exists.text("code").as_str()), (412, "precondition_failed"), "{exists:?}");
        let changed = put(Some(("if-match", &first)), &two).await;
        let second = tag(&changed);
        assert_eq!((changed.status, first == second), (200, false), "{changed:?}");
        assert_refused(&put(Some(("if-match", &first)), &three).await, &second);
        assert_refused(&delete(Some(("if-match", &first))).await, &second);
        let seen = client.get(path).await.expect("an answer");
        assert_eq!((seen.status, tag(&seen)), (200, second.clone()), "{path}");
        assert_eq!(delete(Some(("if-match", &second))).await.status, 204, "{path}");
        assert_eq!(delete(Some(("if-match", "*"))).await.status, 404, "{path}");
        assert_eq!((put(None, &one).await.status, delete(None).await.status), (200, 204), "{path}");
    }
}
