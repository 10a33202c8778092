use dripfeed_auth::Scope;
use dripfeed_bucket::BucketSettings;
use dripfeed_bucket::Kind;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::harness::{Harness, buried, settings};
use crate::keys::key;

const KEY: &str = "dripfeed-key";
const BATCH: &str = "POST /v1/buckets/b/jobs/batch";

/// Callers `shop` and `mail`, and `ops`, who looks.
async fn harness(kind: Kind) -> Harness {
    let keys = vec![
        key("shop", &[Scope::Submit], None),
        key("mail", &[Scope::Submit], None),
        key("ops", &[Scope::Read, Scope::Operate], None),
    ];
    let bucket = BucketSettings { kind, capacity: 1000, ..settings("b") };
    Harness::with(vec![bucket, settings("other")], keys, &[]).await
}

async fn submit(harness: &Harness, caller: &str) -> String {
    let answer = harness.ask("POST /v1/buckets/b/jobs", &[(KEY, caller)], "x").await;
    answer.json()["id"].as_str().unwrap().to_owned()
}

/// The ids of one page, and its cursor.
async fn page(harness: &Harness, query: &str) -> (Vec<String>, Option<String>) {
    let list = harness.ask(&format!("GET /v1/buckets/b/jobs?{query}"), &[(KEY, "ops")], "").await;
    assert_eq!(list.status, 200, "{list:?}");
    let list = list.json();
    let ids = list["items"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().to_owned());
    (ids.collect(), list["next"].as_str().map(str::to_owned))
}

async fn ids(harness: &Harness, query: &str) -> Vec<String> {
    let (ids, next) = page(harness, query).await;
    assert_eq!(next, None);
    ids
}

#[tokio::test]
async fn jobs_are_listed_by_caller_and_age_and_state_at_once() {
    for kind in [Kind::Stream, Kind::List] {
        let harness = harness(kind).await;
        let called = submit(&harness, "shop").await;
        let replica = harness.replica().await;
        let _claim = harness.take(&replica).await;
        let of_shop = submit(&harness, "shop").await;
        let of_mail = submit(&harness, "mail").await;
        assert_eq!(ids(&harness, "caller=shop").await, [called.as_str(), of_shop.as_str()], "{kind:?}");
        assert_eq!(ids(&harness, "caller=shop&state=waiting").await, [of_shop.as_str()], "{kind:?}");
        assert_eq!(ids(&harness, "caller=shop&state=in_flight&older_than=0s").await, [called.as_str()], "{kind:?}");
        assert_eq!(ids(&harness, "older_than=0s").await, [called.as_str(), &of_shop, &of_mail], "{kind:?}");
        for none in ["caller=nobody", "caller=sho", "older_than=1h", "state=waiting&older_than=1h", "state=parked"] {
            assert_eq!(ids(&harness, none).await, [""; 0], "{kind:?} {none}");
        }
    }
}

#[tokio::test]
async fn ended_jobs_are_listed_by_caller_and_age() {
    let harness = harness(Kind::Stream).await;
    for caller in ["shop", "mail", "shop"] {
        submit(&harness, caller).await;
    }
    for _ in 0..3 {
        harness.settle(buried("gone", 410)).await;
    }
    assert_eq!(ids(&harness, "state=dead&caller=shop").await.len(), 2);
    assert_eq!(ids(&harness, "state=dead&caller=mail&older_than=0s").await.len(), 1);
    for none in ["state=dead&caller=nobody", "state=dead&older_than=1h", "state=delivered&caller=shop"] {
        assert_eq!(ids(&harness, none).await, [""; 0], "{none}");
    }
}

/// As the API shows a job, in another ms than what comes next.
async fn job(harness: &Harness, id: &str) -> Value {
    let asked_at = Timestamp::now().as_millisecond();
    while Timestamp::now().as_millisecond() == asked_at {
        tokio::task::yield_now().await;
    }
    harness.ask(&format!("GET /v1/buckets/b/jobs/{id}"), &[(KEY, "ops")], "").await.json()
}

#[tokio::test]
async fn jobs_are_listed_and_cancelled_by_when_they_were_accepted() {
    for kind in [Kind::Stream, Kind::List] {
        let harness = harness(kind).await;
        let (mut jobs, mut times) = (Vec::new(), Vec::new());
        for _ in 0..7 {
            jobs.push(submit(&harness, "shop").await);
            let accepted_at = job(&harness, jobs.last().unwrap()).await["accepted_at"].clone();
            times.push(accepted_at.as_str().unwrap().to_owned());
        }
        let of = |range: &[usize]| range.iter().map(|at| jobs[*at].clone()).collect::<Vec<_>>();
        harness.settle(buried("gone", 410)).await;
        let replica = harness.replica().await;
        let _claim = harness.take(&replica).await;
        for state in ["", "&state=waiting"] {
            let window = format!("since={}&until={}{state}", times[2], times[4]);
            assert_eq!(ids(&harness, &window).await, of(&[2, 3, 4]), "{kind:?}");
            let (first, next) = page(&harness, &format!("{window}&limit=2")).await;
            let rest = ids(&harness, &format!("{window}&limit=2&cursor={}", next.unwrap())).await;
            assert_eq!((first, rest), (of(&[2, 3]), of(&[4])), "{kind:?}");
        }
        assert_eq!(ids(&harness, &format!("until={}", times[2])).await, of(&[1, 2]), "{kind:?}");
        assert_eq!(ids(&harness, &format!("since={}&older_than=0s", times[5])).await, of(&[5, 6]), "{kind:?}");
        assert_eq!(ids(&harness, &format!("until={}&older_than=1h", times[5])).await, [""; 0], "{kind:?}");
        assert_eq!(ids(&harness, &format!("state=in_flight&since={}", times[2])).await, [""; 0], "{kind:?}");
        assert_eq!(ids(&harness, &format!("state=in_flight&until={}", times[1])).await, of(&[1]), "{kind:?}");
        for (window, found) in [(format!("since={}", times[1]), &[][..]), (format!("until={}", times[0]), &[0])] {
            assert_eq!(ids(&harness, &format!("state=dead&{window}")).await, of(found), "{kind:?} {window}");
        }

        let cancel = json!({ "since": times[3], "until": times[4] }).to_string();
        let line = "POST /v1/buckets/b/jobs/cancel";
        let cancelled = harness.ask(line, &[(KEY, "ops"), ("content-type", "application/json")], cancel).await;
        assert_eq!(cancelled.json()["cancelled"], 2, "{kind:?} {cancelled:?}");
        assert_eq!(ids(&harness, "state=waiting").await, of(&[2, 5, 6]), "{kind:?}");
    }
}

#[tokio::test]
async fn outcomes_are_listed_until_a_time() {
    let harness = harness(Kind::Stream).await;
    let (mut jobs, mut times) = (Vec::new(), Vec::new());
    for _ in 0..4 {
        jobs.push(submit(&harness, "shop").await);
        harness.settle(buried("gone", 410)).await;
        let settled_at = job(&harness, jobs.last().unwrap()).await["outcome"]["settled_at"].clone();
        times.push(settled_at.as_str().unwrap().to_owned());
    }
    let list = async |query: &str| {
        let list = harness.ask(&format!("GET /v1/buckets/b/outcomes?{query}"), &[(KEY, "ops")], "").await.json();
        let ids = list["items"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>(), list["next"].clone())
    };
    let window = format!("since={}&until={}", times[1], times[2]);
    assert_eq!(list(&window).await, (jobs[1..=2].to_vec(), Value::Null));
    let (first, next) = list(&format!("{window}&limit=1")).await;
    let rest = list(&format!("{window}&cursor={}", next.as_str().unwrap())).await;
    assert_eq!((first, rest), (jobs[1..=1].to_vec(), (jobs[2..=2].to_vec(), Value::Null)));
    assert_eq!(list("until=2020-01-01T00:00:00Z").await, (Vec::new(), Value::Null));
    for query in ["outcomes?until=now", "jobs?since=now", "jobs?until=now", "jobs?until=2020-01-01"] {
        harness.ask(&format!("GET /v1/buckets/b/{query}"), &[(KEY, "ops")], "").await.refuses(422, "bad_query");
    }
}

#[tokio::test]
async fn pages_of_a_rare_caller_end_and_miss_nobody() {
    for kind in [Kind::Stream, Kind::List] {
        let harness = harness(kind).await;
        let mut of_mail = vec![submit(&harness, "mail").await];
        // Together more than a script reads.
        let flood = json!(vec![json!({ "body": "x".repeat(4000) }); 15]).to_string();
        for _ in 0..10 {
            assert_eq!(harness.ask(BATCH, &[(KEY, "shop")], flood.clone()).await.status, 202);
        }
        of_mail.push(submit(&harness, "mail").await);
        let (mut found, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let (more, next) = page(&harness, &format!("caller=mail&limit=5{cursor}")).await;
            found.extend(more);
            pages += 1;
            let Some(next) = next else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(found, of_mail, "{kind:?}");
        assert!(pages <= 5, "{pages} pages");
    }
}

#[tokio::test]
async fn a_filter_that_cannot_be_is_refused() {
    let harness = harness(Kind::Stream).await;
    let refused = async |query: &str| -> Value {
        let answer = harness.ask(&format!("GET /v1/buckets/b/jobs?{query}"), &[(KEY, "ops")], "").await;
        answer.refuses(422, "bad_query")["member"].clone()
    };
    assert_eq!(refused("older_than=old").await, "older_than");
    assert_eq!(refused("caller=").await, "caller");
    assert_eq!(refused("idempotency_key=k&older_than=1h").await, "idempotency_key");
    assert_eq!(refused("idempotency_key=k&since=2020-01-01T00:00:00Z").await, "idempotency_key");
    assert_eq!(refused("idempotency_key=k&state=waiting").await, "idempotency_key");
}
