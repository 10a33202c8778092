//! A bucket's limits: decided in the script that appends, all or nothing.

use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::Submission;
use dripfeed_tests::buckets::{self, open};
use dripfeed_tests::client::Answer;
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::{Service, until};
use http::Method;
use serde_json::json;

fn policies(policies: serde_json::Value) -> BucketLimits {
    let serde_json::Value::Array(policies) = policies else { panic!("a list") };
    BucketLimits::read("limits", policies).unwrap_or_else(|error| panic!("{error}"))
}

fn of(caller: &str) -> Submission {
    Submission { caller: Some(caller.to_owned()), ..buckets::job("meat") }
}

async fn judge(bucket: &Bucket, submission: Submission) -> Judgement {
    bucket.judge(submission, Arc::default()).await.unwrap()
}

fn refusal(judged: &Judgement) -> &Refused {
    match &judged.admission {
        Admission::Refused(refused) => refused,
        Admission::Admitted(admitted) => panic!("{admitted:?}"),
    }
}

fn is_admitted(judged: &Judgement) -> bool {
    matches!(judged.admission, Admission::Admitted(_))
}

#[tokio::test]
async fn each_caller_has_its_own_limit_and_is_told_what_is_left() {
    let redis = TestRedis::start().await;
    for (number, kind) in [Kind::Stream, Kind::List].into_iter().enumerate() {
        let bucket = open(&redis, BucketSettings { kind, ..buckets::settings(&format!("b{number}")) }).await;
        bucket.limit_by(&policies(json!([
            { "id": "each", "key": ["caller"], "tiers": [{ "kind": "bucket", "rate": "2/h", "burst": 2 }] }
        ])));
        let first = judge(&bucket, of("alice")).await;
        assert!(is_admitted(&first));
        assert_eq!(first.limits.unwrap().policies[0].tiers[0].remaining, 1);
        assert!(is_admitted(&judge(&bucket, of("alice")).await));
        let refused = judge(&bucket, of("alice")).await;
        let refused = refusal(&refused);
        assert_eq!((refused.reason, refused.level), (Reason::CallerLimit, 2));
        let wait = refused.retry_after.unwrap();
        assert!(wait > Duration::from_mins(29) && wait <= Duration::from_mins(30), "{wait:?}");
        assert!(is_admitted(&judge(&bucket, of("bob")).await));
        assert_eq!(bucket.census().await.unwrap().level, 3);
    }
}

#[tokio::test]
async fn a_refused_submission_is_charged_to_no_tier() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity: 3, ..buckets::settings("b") }).await;
    bucket.limit_by(&policies(json!([
        { "id": "all", "tiers": [{ "kind": "fixed", "limit": 100, "period": "1h" }] },
        { "id": "each", "key": ["caller"], "tiers": [{ "kind": "fixed", "limit": 1, "period": "1h" }] }
    ])));
    let left = |judged: &Judgement| judged.limits.as_ref().unwrap().policies[0].tiers[0].remaining;
    assert_eq!(left(&judge(&bucket, of("alice")).await), 99);
    for _ in 0..5 {
        assert_eq!(refusal(&judge(&bucket, of("alice")).await).reason, Reason::CallerLimit);
    }
    assert_eq!(left(&judge(&bucket, of("bob")).await), 98);
    assert!(is_admitted(&judge(&bucket, of("carol")).await));
    // Nor for want of room.
    for _ in 0..5 {
        assert_eq!(refusal(&judge(&bucket, of("dave")).await).reason, Reason::BucketFull);
    }
    assert_eq!(bucket.purge().await.unwrap(), 3);
    assert_eq!(left(&judge(&bucket, of("dave")).await), 96);
}

#[tokio::test]
async fn the_later_of_a_batch_see_what_the_earlier_were_charged() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    bucket.limit_by(&policies(json!([
        { "id": "each", "key": ["caller"], "tiers": [{ "kind": "log", "limit": 3, "period": "1h" }] }
    ])));
    let answers = bucket.admit_many((0..10).map(|_| of("alice")).collect()).await;
    let admitted = answers.iter().filter(|answer| matches!(answer, Ok(Admission::Admitted(_)))).count();
    assert_eq!(admitted, 3);
    let tally = bucket.census().await.unwrap();
    assert!(tally.refused.contains(&(Reason::CallerLimit, 7)), "{:?}", tally.refused);
}

#[tokio::test]
async fn a_policy_can_bound_the_backlog_below_the_capacity() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    bucket.limit_by(&policies(json!([
        { "id": "short", "match": { "methods": ["PUT"] }, "tiers": [{ "kind": "backlog", "limit": 2 }] }
    ])));
    let put = || Submission { method: Some(Method::PUT), ..of("alice") };
    for _ in 0..2 {
        assert!(is_admitted(&judge(&bucket, put()).await));
    }
    let refused = judge(&bucket, put()).await;
    assert_eq!(refusal(&refused).reason, Reason::CallerLimit);
    assert!(refusal(&refused).retry_after.is_some());
    assert!(is_admitted(&judge(&bucket, of("alice")).await), "another method has the bucket's own bound");
}

#[tokio::test]
async fn who_waits_exactly_as_long_as_told_gets_in() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    bucket.limit_by(&policies(json!([
        { "id": "gate", "key": ["caller"], "tiers": [{ "kind": "gate", "period": "30ms" }] }
    ])));
    assert!(is_admitted(&judge(&bucket, of("alice")).await));
    for _ in 0..10 {
        let wait = loop {
            let judged = judge(&bucket, of("alice")).await;
            if let Admission::Refused(refused) = judged.admission {
                break refused.retry_after.unwrap();
            }
        };
        tokio::time::sleep(wait).await;
        assert!(is_admitted(&judge(&bucket, of("alice")).await), "{wait:?} was not enough");
    }
}

#[tokio::test]
async fn one_script_call_decides_any_number_of_tiers() {
    let redis = TestRedis::start().await;
    for tiers in [1, 3, 5] {
        let store = redis.store().await;
        let bucket = open(&redis, buckets::settings(&format!("b{tiers}"))).await;
        let tier = |n| json!({ "kind": "bucket", "rate": format!("{n}/s"), "burst": 10 });
        bucket.limit_by(&policies(json!([
            { "id": "each", "key": ["caller"], "tiers": (1..=tiers).map(tier).collect::<Vec<_>>() }
        ])));
        assert!(is_admitted(&judge(&bucket, of("alice")).await));
        store.command::<()>(redis::cmd("CONFIG").arg("RESETSTAT")).await.unwrap();
        assert!(is_admitted(&judge(&bucket, of("alice")).await));
        let stats: String = store.command(redis::cmd("INFO").arg("commandstats")).await.unwrap();
        assert!(stats.contains("cmdstat_evalsha:calls=1,"), "{stats}");
        let scopes: Vec<String> = store.command(redis::cmd("KEYS").arg(format!("*b{tiers}*:limit:*"))).await.unwrap();
        assert_eq!(scopes.len(), 1);
        let ttl: i64 = store.command(redis::cmd("PTTL").arg(&scopes[0])).await.unwrap();
        assert!(ttl > 0);
    }
}

#[tokio::test]
async fn a_limit_that_changes_keeps_what_was_consumed() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let limit = |limit: u64| {
        policies(json!([
            { "id": "each", "key": ["caller"], "tiers": [{ "kind": "fixed", "limit": limit, "period": "24h" }] }
        ]))
    };
    bucket.limit_by(&limit(2));
    for _ in 0..2 {
        assert!(is_admitted(&judge(&bucket, of("alice")).await));
    }
    assert!(!is_admitted(&judge(&bucket, of("alice")).await));
    bucket.limit_by(&limit(3));
    assert!(is_admitted(&judge(&bucket, of("alice")).await));
    bucket.limit_by(&limit(1));
    assert!(!is_admitted(&judge(&bucket, of("alice")).await));
    bucket.limit_by(&BucketLimits::default());
    assert!(is_admitted(&judge(&bucket, of("alice")).await));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_over_its_limit_is_told_which_and_until_when() {
    let service = Service::new(
        "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\n\
         [[buckets.b.limits]]\nid = \"each\"\nkey = [\"header:x-tenant\"]\nmessage = \"slow down\"\n\
         tiers = [{ kind = \"bucket\", rate = \"2/h\", burst = 2 }]\n",
    )
    .await;
    let client = service.intake().await;
    let client = client.client();
    let submit = async |tenant: &str| {
        let request = client.request(Method::POST, "/v1/buckets/b/jobs").header("x-tenant", tenant);
        client.call(request, "meat").await.expect("an answer")
    };
    let fields = |answer: &Answer| {
        let all = answer.headers.get_all("ratelimit").iter().map(|value| value.to_str().unwrap().to_owned());
        all.collect::<Vec<_>>().join(", ")
    };
    let first = submit("acme").await;
    assert_eq!(first.status, 202, "{first:?}");
    assert!(fields(&first).contains("\"each\";r=1;t="), "{first:?}");
    assert_eq!(submit("acme").await.status, 202);
    let refused = submit("acme").await;
    assert_eq!((refused.status, refused.text("code").as_str()), (429, "caller_limit"), "{refused:?}");
    assert_eq!(refused.json()["violated_policies"], json!(["each"]));
    assert_eq!(refused.text("detail"), "slow down");
    let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert_eq!(wait, refused.number("retry_after_ms").div_ceil(1000));
    assert!((1700..=1800).contains(&wait), "{refused:?}");
    assert_eq!(submit("other").await.status, 202);
    // In a batch each is judged by itself.
    let request = client.request(Method::POST, "/v1/buckets/b/jobs/batch").header("x-tenant", "third");
    let batch = client.call(request, "{\"body\":1}\n{\"body\":2}\n{\"body\":3}").await.expect("an answer");
    assert_eq!((batch.status, batch.number("accepted"), batch.number("refused")), (207, 2, 1), "{batch:?}");
    assert_eq!(batch.json()["items"][2]["problem"]["code"], "caller_limit");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_set_at_run_time_hold_at_once_on_all_intakes_and_keep_what_was_consumed() {
    let service = Service::new(
        "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\n\
         [[buckets.b.limits]]\nid = \"each\"\ntiers = [{ kind = \"fixed\", limit = 3, period = \"24h\" }]\n",
    )
    .await;
    let intakes = [service.intake().await, service.intake().await];
    let clients = intakes.each_ref().map(Process::client);
    let submit = async |intake: usize, tenant: &str| {
        let request = clients[intake].request(Method::POST, "/v1/buckets/b/jobs").header("x-tenant", tenant);
        clients[intake].call(request, "meat").await.expect("an answer")
    };
    let statuses = async |tenant: &str| [submit(0, tenant).await.status, submit(1, tenant).await.status];
    let patch =
        async |body: serde_json::Value| clients[0].patch("/v1/buckets/b", &body.to_string()).await.expect("an answer");
    let each = |limit: u64, key: serde_json::Value| {
        let tiers = json!([{ "kind": "fixed", "limit": limit, "period": "24h" }]);
        json!([{ "id": "each", "key": key, "tiers": tiers }])
    };
    assert_eq!(statuses("acme").await, [202, 202]);
    // Lowered below what was consumed, and raised again: two are consumed all the time.
    assert_eq!(patch(json!({ "limits": each(1, json!([])) })).await.status, 200);
    assert_eq!(statuses("acme").await, [429, 429]);
    let raised = patch(json!({ "limits": { "policies": each(4, json!([])) } })).await;
    assert_eq!(raised.json()["limits"], each(4, json!([])));
    assert_eq!(raised.json()["changes"]["limits"], each(4, json!([])));
    assert_eq!([statuses("acme").await, statuses("acme").await], [[202, 202], [429, 429]]);

    // What is wrong is refused whole, and changes nothing.
    let wrong = json!({ "capacity": 7, "limits": [
        { "id": "a", "tiers": [{ "kind": "fixed", "limit": 0, "period": "1s" }] },
        { "id": "b", "key": ["moon"], "tiers": [{ "kind": "gate", "period": "1s" }] }
    ] });
    let refused = patch(wrong).await;
    assert_eq!((refused.status, refused.text("code").as_str()), (422, "bad_member"), "{refused:?}");
    let places: Vec<_> =
        refused.json()["faults"].as_array().unwrap().iter().map(|fault| fault["place"].clone()).collect();
    assert_eq!(places, ["limits[0].tiers[0]", "limits[1].key[0]"]);
    let state = clients[1].get("/v1/buckets/b").await.unwrap().json();
    assert_eq!((&state["limits"], &state["capacity"]), (&each(4, json!([])), &json!(1000)));

    // Others count by something that submissions weren't looked at for before.
    assert_eq!(patch(json!({ "limits": each(1, json!(["header:x-tenant"])) })).await.status, 200);
    assert_eq!([statuses("acme").await, statuses("other").await], [[202, 429], [202, 429]]);

    // Back to the configured: three, of which four are consumed.
    let back = patch(json!({ "limits": null })).await.json();
    assert_eq!(back["limits"][0]["tiers"][0]["limit"], 3);
    assert_eq!(back["changes"].get("limits"), None);
    assert_eq!(statuses("acme").await, [429, 429]);
    assert_eq!(patch(json!({ "limits": [] })).await.status, 200);
    assert_eq!(statuses("acme").await, [202, 202]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_by_address_goes_by_the_connection_or_by_what_a_trusted_proxy_says() {
    let service = Service::new(
        "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\n\
         [[buckets.b.limits]]\nid = \"each\"\nkey = [\"ip\"]\ntiers = [{ kind = \"fixed\", limit = 1, period = \"24h\" }]\n",
    )
    .await;
    let direct = service.intake().await;
    let behind = service.role("intake", &["intake.trusted_proxies=[\"127.0.0.0/8\"]"]).await;
    let submit = async |intake: &Process, forwarded: &str| {
        let client = intake.client();
        let request = client.request(Method::POST, "/v1/buckets/b/jobs").header("x-forwarded-for", forwarded);
        client.call(request, "meat").await.expect("an answer").status
    };
    assert_eq!(submit(&direct, "198.51.100.7").await, 202);
    assert_eq!(submit(&direct, "198.51.100.8").await, 429, "nobody is believed");
    assert_eq!(submit(&behind, "198.51.100.7").await, 202);
    assert_eq!(submit(&behind, "203.0.113.1, 198.51.100.7").await, 429, "what a caller made up is not believed");
    assert_eq!(submit(&behind, "198.51.100.8").await, 202);
    // Of IPv6 the first 64 bits are one caller.
    assert_eq!(submit(&behind, "2001:db8:1:1::1").await, 202);
    assert_eq!(submit(&behind, "2001:db8:1:1::2").await, 429);
    assert_eq!(submit(&behind, "2001:db8:1:2::1").await, 202);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_proxied_request_its_own_method_and_path_are_matched() {
    let service = Service::new(
        "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\n\
         [[buckets.b.limits]]\nid = \"put\"\nkey = [\"path:org\"]\n\
         match = { methods = [\"PUT\"], path = \"/v1/{org}/product/{id}\" }\n\
         tiers = [{ kind = \"fixed\", limit = 1, period = \"24h\" }]\n\
         [[buckets.b.limits]]\nid = \"one\"\nkey = [\"path:org\"]\n\
         match = { methods = [\"PUT\"], path = \"/v1/{org}/product/1\" }\n\
         tiers = [{ kind = \"fixed\", limit = 2, period = \"24h\" }]\n",
    )
    .await;
    let intake = service.intake().await;
    let client = intake.client();
    let call = async |method: Method, path: &str| {
        let request = client.request(method, &format!("/v1/buckets/b/{path}"));
        client.call(request, "").await.expect("an answer")
    };
    assert_eq!(call(Method::PUT, "proxy/v1/acme/product/7?x=1").await.status, 202);
    let refused = call(Method::PUT, "proxy/v1/acme/product/8").await;
    assert_eq!((refused.status, &refused.json()["violated_policies"]), (429, &json!(["put"])), "{refused:?}");
    for (method, path) in [
        (Method::PUT, "proxy/v1/other/product/8"),
        (Method::POST, "proxy/v1/acme/product/8"),
        (Method::PUT, "proxy/v1/acme/order/8"),
        (Method::POST, "jobs"),
    ] {
        assert_eq!(call(method.clone(), path).await.status, 202, "{method} {path}");
    }
    // The most specific match is in force, and not the one that is used up.
    for status in [202, 202, 429] {
        assert_eq!(call(Method::PUT, "proxy/v1/acme/product/1").await.status, status);
    }
    // A submission that names its method and path is the same.
    let request = client.request(Method::POST, "/v1/buckets/b/jobs");
    let request = request.header("dripfeed-method", "PUT").header("dripfeed-path", "/v1/acme/product/9");
    assert_eq!(client.call(request, "meat").await.expect("an answer").status, 429);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_read_again_at_once_and_wrong_ones_change_nothing() {
    let limited = |limit: &str, more: &str| {
        format!(
            "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\n[[buckets.b.limits]]\nid = \"all\"\n\
             tiers = [{{ kind = \"fixed\", limit = {limit}, period = \"1d\", align = \"first\" }}]\n{more}"
        )
    };
    let service = Service::new(&limited("2", "")).await;
    let intake = service.intake().await;
    let submit = async || intake.client().submit("b", "meat").await.expect("an answer").status;
    let reload = async |settings: &str, told: &str| {
        let before = intake.log().matches(told).count();
        service.configure(settings);
        intake.hang_up();
        until(told, async || intake.log().matches(told).count() > before).await;
    };
    const READ: &str = "settings are read again";
    const KEPT: &str = "buckets.b: limits[1].tiers[0]: there is no limit";
    assert_eq!([submit().await, submit().await, submit().await], [202, 202, 429]);

    // Half of it is right; none of it is taken.
    reload(&limited("100", "[[buckets.b.limits]]\nid = \"more\"\ntiers = [{ kind = \"gate\" }]\n"), KEPT).await;
    assert_eq!(submit().await, 429);

    // What was consumed is, under the new limit too.
    reload(&limited("4", ""), READ).await;
    assert_eq!([submit().await, submit().await, submit().await], [202, 202, 429]);
    reload(&limited("3", ""), READ).await;
    assert_eq!(submit().await, 429);
}
