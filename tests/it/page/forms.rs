use dripfeed_tests::service::Service;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::reader::{Reader, key};
use super::routes::actions;

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";
/// Every action on a bucket, with fields that it accepts.
const ACTIONS: [(&str, &str); 14] = [
    ("/buckets/b/pause", ""),
    ("/buckets/b/resume", ""),
    ("/buckets/b/purge", "confirm=b"),
    ("/buckets/b/change", "capacity=7"),
    ("/buckets/b/jobs/cancel", "state=waiting&confirm=b"),
    ("/buckets/b/jobs/1-1/cancel", ""),
    ("/buckets/b/dead/replay", ""),
    ("/buckets/b/dead/replays/1-1/cancel", ""),
    ("/buckets/b/dead/delete", "reason=x&confirm=delete"),
    ("/buckets/b/dead/1-1/replay", ""),
    ("/buckets/b/dead/1-1/edit", "body=x"),
    ("/buckets/b/schedules/1-1/pause", ""),
    ("/services/s/try", "path=/x"),
    ("/buckets/b/dead/1-1/delete", "confirm=delete"),
];

async fn state(reader: &Reader) -> Value {
    let mut state = reader.get("/v1/buckets/b").await.json();
    // It grows older meanwhile.
    state["oldest_age_ms"] = Value::Null;
    state["accepted_per_s"] = Value::Null;
    state
}

#[tokio::test]
async fn a_forged_request_changes_nothing() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    intake.client().submit("b", "x").await.expect("an answer");
    let before = state(&reader).await;
    let origin = intake.url();
    let token = reader.token("/buckets/b").await;
    let fields = "confirm=b&capacity=7&state=waiting&mode=slow&count=1";
    // A sign-in has no token, because nobody is signed in before it.
    for path in &actions("1-1") {
        for (token, headers) in [
            // Of a page of ours, but without its token.
            ("", vec![("origin", origin.as_str())]),
            ("form_token=AAAA&", vec![("origin", origin.as_str())]),
            // With a token, but of another page.
            (token.as_str(), vec![("origin", "http://evil.example")]),
            (token.as_str(), vec![("origin", "null")]),
            (token.as_str(), vec![("origin", origin.as_str()), ("sec-fetch-site", "cross-site")]),
            (token.as_str(), vec![("sec-fetch-site", "same-site")]),
        ] {
            if path == "/sign-in" && headers == [("origin", origin.as_str())] {
                continue;
            }
            let answer = reader.post_from(path, &format!("{token}{fields}"), &headers).await;
            assert_eq!(answer.status, 403, "{path} {headers:?}: {answer:?}");
        }
    }
    assert_eq!(state(&reader).await, before);
    assert_eq!(reader.post("/buckets/b/pause", &token).await.status, 303);
    assert_eq!(state(&reader).await["paused"], true);
}

#[tokio::test]
async fn actions_do_what_they_say() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    let token = reader.token("/buckets/b").await;
    let id = intake.client().submit("b", "x").await.expect("an answer").text("id");
    for _ in 0..3 {
        intake.client().submit("b", "x").await.expect("an answer");
    }
    let done = reader.post(&format!("/buckets/b/jobs/{id}/cancel"), &token).await;
    assert_eq!(done.headers["location"], format!("/buckets/b/jobs/{id}?done=cancelled"));
    assert!(reader.text(&format!("/buckets/b/jobs/{id}")).await.contains("cancelled"));

    let preview = reader.text("/buckets/b/change?capacity=2&leak.rate=7%2Fs").await;
    assert!(preview.contains("The level is 3") && preview.contains("7/s"), "{preview}");
    assert_eq!(state(&reader).await["capacity"], 1000);
    reader.post("/buckets/b/change", &format!("{token}capacity=2&leak.rate=7%2Fs")).await;
    let changed = state(&reader).await;
    assert_eq!((&changed["capacity"], &changed["pace"]["target"]), (&2.into(), &"7/s".into()));
    reader.post("/buckets/b/change", &format!("{token}restore=capacity")).await;
    assert_eq!(state(&reader).await["capacity"], 1000);
    let refused = reader.post("/buckets/b/change", &format!("{token}leak.rate=never")).await;
    assert_eq!(refused.status, 422);

    let cancel = async |fields: &str| reader.post("/buckets/b/jobs/cancel", &format!("{token}{fields}")).await;
    for unconfirmed in ["older_than=0s", "older_than=0s&confirm=c", "confirm=b", "caller=&state=&confirm=b"] {
        assert_eq!(cancel(unconfirmed).await.status, 422, "{unconfirmed}");
    }
    let none = cancel("caller=nobody&state=waiting&confirm=b").await;
    assert_eq!(none.headers["location"], "/buckets/b/jobs?state=waiting&caller=nobody&done=purged&count=0");
    assert_eq!(state(&reader).await["level"], 3);
    let all = cancel("older_than=0s&confirm=b").await;
    assert_eq!(all.headers["location"], "/buckets/b/jobs?older_than=0s&done=purged&count=3");
    let note = reader.text("/buckets/b/jobs?older_than=0s&done=purged&count=3").await;
    assert!(note.contains("Cancelled 3 jobs: older than 0s."), "{note}");

    for _ in 0..3 {
        assert_eq!(intake.client().submit("b", "x").await.expect("an answer").status, 202);
    }
    assert_eq!(reader.post("/buckets/b/purge", &format!("{token}confirm=c")).await.status, 422);
    assert_eq!(state(&reader).await["level"], 3);
    let purged = reader.post("/buckets/b/purge", &format!("{token}confirm=b")).await;
    assert_eq!(purged.headers["location"], "/buckets/b?done=purged&count=3");
}

#[tokio::test]
async fn a_key_without_operate_sees_no_action_and_can_do_none() {
    let service = Service::new(&format!("{BUCKET}{}", key("reader", &["read"]))).await;
    let intake = service.intake().await;
    let mut reader = Reader::of(&intake);
    reader.sign_in("reader").await;
    for path in ["/", "/buckets/b", "/buckets/b/jobs", "/buckets/b/dead", "/services", "/redis"] {
        let page = reader.text(path).await;
        let forms: Vec<&str> = page.split("method=\"post\" action=\"").skip(1).collect();
        let actions: Vec<&str> = forms.iter().filter_map(|form| form.split('"').next()).collect();
        assert_eq!(actions, ["/sign-out"], "{path}");
    }
    let token = reader.token("/").await;
    // Of everybody; and in `dripfeed dev` alone.
    let others = ["/sign-in", "/sign-out", "/buckets/b/change/preview", "/buckets/b/send", "/upstream"];
    let known = |path: &str| others.contains(&path) || ACTIONS.iter().any(|(action, _)| *action == path);
    assert!(actions("1-1").iter().all(|path| known(path)), "{:?}", actions("1-1"));
    for (path, fields) in ACTIONS {
        let answer = reader.post(path, &format!("{token}{fields}")).await;
        assert_eq!(answer.status, 403, "{path}: {answer:?}");
        assert!(String::from_utf8_lossy(&answer.body).contains("lacks the scope"), "{path}");
        let unconfirmed = reader.post(path, &token).await;
        assert_eq!(unconfirmed.status, 403, "rights come first: {path}: {unconfirmed:?}");
    }
}

#[tokio::test]
async fn a_form_has_a_bounded_number_of_fields() {
    let service = Service::new(BUCKET).await;
    let intake = service.intake().await;
    let reader = Reader::of(&intake);
    let token = reader.token("/buckets/b").await;
    let fields = |many: usize| token.clone() + &"a=&".repeat(many);
    assert_eq!(reader.post("/buckets/b/pause", &fields(62)).await.status, 303);
    for (path, many) in [("/buckets/b/resume", 65), ("/buckets/b/resume", 100_000)] {
        let refused = reader.post(path, &fields(many)).await;
        assert_eq!(refused.status, 400, "{many}");
        assert!(String::from_utf8_lossy(&refused.body).contains("64 fields"), "{many}");
    }
    assert_eq!(state(&reader).await["paused"], true);
    let refused = reader.post("/sign-in", &fields(65)).await;
    assert!(String::from_utf8_lossy(&refused.body).contains("64 fields"), "{refused:?}");
}

#[tokio::test]
async fn a_form_that_times_out_holds_no_connection() {
    let service = Service::new(BUCKET).await;
    let intake = service.role("intake", &["intake.body_timeout=\"200ms\""]).await;
    let host = intake.url().trim_start_matches("http://").to_owned();
    for (path, bytes, status) in [("/sign-in", 1000, 408), ("/buckets/b/pause", 1000, 408), ("/sign-in", 1 << 22, 413)]
    {
        let mut connection = TcpStream::connect(&host).await.expect("a connection");
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {bytes}\r\n\r\nkey="
        );
        connection.write_all(head.as_bytes()).await.expect("it is sent");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.expect("the connection is closed");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {answer}");
    }
}
