//! What callers of a running intake are notified of a bucket's limits.

use dripfeed_tests::client::ClientResponse;
use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{Service, until};
use http::Method;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_over_its_limit_sees_which_and_until_when() {
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
    let fields = |answer: &ClientResponse| {
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
    // In a batch each is judged on its own.
    let request = client.request(Method::POST, "/v1/buckets/b/jobs/batch").header("x-tenant", "third");
    let batch = client.call(request, "{\"body\":1}\n{\"body\":2}\n{\"body\":3}").await.expect("an answer");
    assert_eq!((batch.status, batch.number("accepted"), batch.number("refused")), (207, 2, 1), "{batch:?}");
    assert_eq!(batch.json()["items"][2]["problem"]["code"], "caller_limit");
    assert!(fields(&batch).contains("\"each\";r=0;t="), "{batch:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_older_fields_show_one_limit_the_one_with_the_least_left() {
    let service = Service::new(
        "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\ncapacity = 4\n\
         [[buckets.b.limits]]\nid = \"each\"\nkey = [\"header:x-tenant\"]\n\
         tiers = [{ kind = \"fixed\", limit = 2, period = \"24h\" }]\n",
    )
    .await;
    let intake = service.role("intake", &["intake.x_ratelimit_headers=true"]).await;
    let client = intake.client();
    let submit = async |tenant: &str| {
        let request = client.request(Method::POST, "/v1/buckets/b/jobs").header("x-tenant", tenant);
        let answer = client.call(request, "x").await.expect("an answer");
        let older = ["limit", "remaining"].map(|name| {
            let values = answer.headers.get_all(format!("x-ratelimit-{name}")).iter();
            values.map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>().join(" and ")
        });
        let reset = answer.headers["x-ratelimit-reset"].to_str().unwrap();
        assert!(older[1] != "0" || reset != "0", "when there is room again isn't shown: {answer:?}");
        (answer.status, older.join(", "))
    };
    for (tenant, status, older) in [
        ("a", 202, "2, 1"),
        ("a", 202, "2, 0"),
        ("a", 429, "2, 0"),
        ("b", 202, "2, 1"),
        ("c", 202, "4, 0"),
        ("d", 429, "4, 0"),
    ] {
        assert_eq!(submit(tenant).await, (status, older.to_owned()), "{tenant}");
    }
}

/// A receipt, a result of several, a refusal of several, and a job that is known by its key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_to_a_submission_says_what_is_left_also_in_the_older_fields() {
    let service = Service::new("[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\ncapacity = 5\n").await;
    let intake = service.role("intake", &["intake.x_ratelimit_headers=true"]).await;
    let client = intake.client();
    let (jobs, batch, proxied) = ("/v1/buckets/b/jobs", "/v1/buckets/b/jobs/batch", "/v1/buckets/b/proxy/a?b=c");
    for (method, path, key, body, status, left) in [
        (Method::POST, jobs, "one", "1", 202, "4"),
        (Method::POST, jobs, "one", "1", 202, "4"),
        (Method::PUT, proxied, "two", "2", 202, "3"),
        (Method::POST, batch, "", "{\"body\":3}\n{\"body\":4}", 202, "1"),
        (Method::POST, batch, "", "{\"body\":5}\n{\"body\":6}", 207, "0"),
        (Method::POST, batch, "", "{\"body\":7}", 429, "0"),
        (Method::POST, jobs, "three", "8", 429, "0"),
        (Method::DELETE, proxied, "four", "", 429, "0"),
        (Method::POST, jobs, "one", "1", 202, "0"),
        (Method::POST, jobs, "one", "another body", 409, "0"),
    ] {
        let request = client.request(method, path);
        let request = if key.is_empty() { request } else { request.header("idempotency-key", key) };
        let answer = client.call(request, body).await.expect("an answer");
        let shown = |name: &str| answer.headers.get(name).map_or("", |value| value.to_str().unwrap());
        assert_eq!((answer.status, shown("x-ratelimit-remaining")), (status, left), "{path}: {answer:?}");
        assert_eq!(shown("x-ratelimit-limit"), "5", "{path}: {answer:?}");
        assert!(shown("ratelimit").starts_with(&format!("\"bucket\";r={left}")), "{path}: {answer:?}");
        if status == 429 {
            assert_eq!(shown("x-ratelimit-reset"), shown("retry-after"), "{path}: {answer:?}");
        }
        assert_ne!((left, shown("x-ratelimit-reset")), ("0", "0"), "nothing is left, and more at once? {answer:?}");
    }
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
async fn verdicts_are_counted_by_limit_and_a_shadow_policy_changes_no_answer() {
    let service = Service::new(
        "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\n\
         [[buckets.b.limits]]\nid = \"real\"\ntiers = [{ kind = \"fixed\", limit = 3, period = \"24h\" }]\n\
         [[buckets.b.limits]]\nid = \"tried\"\nmode = \"shadow\"\n\
         tiers = [{ kind = \"fixed\", limit = 1, period = \"24h\" }]\n",
    )
    .await;
    let intake = service.intake().await;
    let client = intake.client();
    for status in [202, 202, 202, 429] {
        let answer = client.submit("b", "meat").await.unwrap();
        assert_eq!(answer.status, status);
        if status == 429 {
            assert_eq!(answer.json()["violated_policies"], json!(["real"]));
        }
    }
    let metrics = client.get("/metrics").await.unwrap();
    let metrics = std::str::from_utf8(&metrics.body).unwrap();
    for line in [
        r#"{bucket="b",policy="real",verdict="allowed"} 3"#,
        r#"{bucket="b",policy="real",verdict="refused"} 1"#,
        r#"{bucket="b",policy="tried",verdict="allowed"} 1"#,
        r#"{bucket="b",policy="tried",verdict="shadow_refused"} 3"#,
    ] {
        assert!(metrics.contains(&format!("dripfeed_bucket_limit_verdicts_total{line}")), "{line}: {metrics}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_by_address_goes_by_the_connection_or_by_what_a_trusted_proxy_says() {
    let service = Service::new(
        "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\n\
         [[buckets.b.limits]]\nid = \"each\"\nkey = [\"ip\"]\n\
         tiers = [{ kind = \"fixed\", limit = 1, period = \"24h\" }]\n",
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
async fn limits_match_method_and_path_of_a_proxied_request() {
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
    const READ: &str = "settings reloaded";
    const KEPT: &str = "buckets.b.limits[1].tiers[0]: missing limit";
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_and_buckets_that_are_gone_leave_the_metrics() {
    let limit = |id: &str| {
        format!("[[buckets.b.limits]]\nid = \"{id}\"\ntiers = [{{ kind = \"fixed\", limit = 9, period = \"24h\" }}]\n")
    };
    let basis = "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\n";
    let other = "[buckets.other]\nupstream = \"http://127.0.0.1:9/\"\n";
    let service = Service::new(&format!("{basis}{}{}{other}", limit("stays"), limit("goes"))).await;
    let (intake, processor) = (service.intake().await, service.processor().await);
    let submit = async |bucket: &str| assert_eq!(intake.client().submit(bucket, "meat").await.unwrap().status, 202);
    let shown = async |of: &Process, label: &str| {
        let metrics = of.client().get("/metrics").await.expect("metrics");
        let text = String::from_utf8(metrics.body.to_vec()).expect("text");
        text.lines().any(|line| line.contains(label))
    };
    let policies = async || {
        let labels = ["stays", "goes", "new"].map(|policy| format!("bucket=\"b\",policy=\"{policy}\""));
        let [stays, goes, new] = labels.each_ref().map(|label| shown(&intake, label));
        [stays.await, goes.await, new.await]
    };
    submit("b").await;
    submit("other").await;
    assert_eq!(policies().await, [true, true, false]);
    const OTHER: &str = "bucket=\"other\"";
    until("the processor works on it", async || shown(&processor, OTHER).await).await;
    assert!(shown(&intake, OTHER).await);

    let read = async |settings: &str| {
        service.configure(settings);
        for process in [&intake, &processor] {
            let told = || process.log().matches("settings reloaded").count();
            let before = told();
            process.hang_up();
            until("the settings are read again", async || told() > before).await;
        }
    };
    read(&format!("{basis}{}{}", limit("stays"), limit("new"))).await;
    assert_eq!(policies().await, [true, false, false]);
    until("the bucket has left the metrics", async || !shown(&intake, OTHER).await && !shown(&processor, OTHER).await)
        .await;
    submit("b").await;
    assert_eq!(policies().await, [true, false, true]);
    assert!(shown(&processor, "bucket=\"b\"").await);

    // Changed at run time, and not by a reload.
    let changes = json!({ "limits": [{ "id": "new", "tiers": [{ "kind": "gate", "period": "1ms" }] }] });
    assert_eq!(intake.client().patch("/v1/buckets/b", &changes.to_string()).await.unwrap().status, 200);
    assert_eq!(policies().await, [false, false, true]);
}
