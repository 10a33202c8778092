//! The schemas of the API description accept the same values as the intake.

use std::fs;
use std::time::Duration;

use dripfeed_job::duration;
use jsonschema::{Validator, validator_for};
use serde_json::{Value, json};

use crate::harness::Harness;

const JSON: (&str, &str) = ("content-type", "application/json");

struct Published(Value);

impl Published {
    fn new() -> Self {
        Self(serde_json::to_value(dripfeed_intake::openapi()).unwrap())
    }

    /// Of the request body of an operation. `path` as in a request.
    fn body(&self, method: &str, path: &str) -> Validator {
        let is_it = |template: &str| {
            let (segments, of_template) = (path.split('/'), template.split('/'));
            segments.clone().count() == of_template.clone().count()
                && segments.zip(of_template).all(|(segment, of)| of.starts_with('{') || segment == of)
        };
        let paths = self.0["paths"].as_object().unwrap().iter().filter(|(template, _)| is_it(template));
        let mut bodies = paths.filter_map(|(_, operations)| operations[method]["requestBody"]["content"].as_object());
        let content = bodies.next().unwrap_or_else(|| panic!("no {method} {path} with a body"));
        self.validator(&content.values().next().unwrap()["schema"])
    }

    /// A nested schema, with what it refers to.
    fn validator(&self, schema: &Value) -> Validator {
        validator_for(&json!({"allOf": [schema], "components": self.0["components"]})).unwrap()
    }

    fn component(&self, name: &str) -> Validator {
        self.validator(&json!({"$ref": format!("#/components/schemas/{name}")}))
    }

    fn parameter(&self, path: &str, method: &str, name: &str) -> Validator {
        let parameters = self.0["paths"][path][method]["parameters"].as_array().unwrap();
        let found = parameters.iter().find(|parameter| parameter["name"] == name);
        self.validator(&found.unwrap_or_else(|| panic!("{path} has no {name}"))["schema"])
    }
}

const RATES: [&[&str]; 2] = [
    &["1000/s", "10000/day", "200/500ms", "10/s", "1 / 2m", "1/1h 30m", "5/1 hour, 30 minutes", "7/0.5s", "1/01:00:00"],
    &["", "10", "/s", "10/", "ten/s", "-1/s", "1.5/s", "10/5", "0/s", "1/-1s", "1/s ago"],
];

const DURATIONS: [&[&str]; 2] = [
    &["1h 30m", "10s", "500ms", "90m", "1d", "PT10S", "pt1h30m", "P1DT2H", "2 hours", "1.5h", "1h30m", "1w", "1:00:00"],
    &["", "10", "10y", "-1s", "s", "ten s", "NaN", "10s; 20s", "1e9s", "10s ago"],
];

#[tokio::test]
async fn the_schema_of_a_change_accepts_what_the_intake_accepts() {
    let (harness, published) = (Harness::start().await, Published::new());
    let schema = published.component("Patch");
    let rates = |at: fn(&str) -> Value| RATES.map(|texts| texts.iter().map(|text| at(text)).collect::<Vec<_>>());
    let [mut accepted, mut refused] = rates(|rate| json!({"leak": {"rate": rate, "burst": 1}}));
    let [of_pace, not_of_pace] = rates(|rate| json!({"pace": {"target": rate}, "leak": {"burst": 1}}));
    accepted.extend(of_pace);
    refused.extend(not_of_pace);
    for share in ["100%", "25%", "12.5%", "0.01%", "5 %", "99.99%", "010%", "free"] {
        accepted.push(json!({"max_share": share}));
    }
    for share in ["0%", "100.01%", "25", "-1%", "0.001%", "1.%", "0.0%", "101%", "Free"] {
        refused.push(json!({"max_share": share}));
    }
    for bytes in [json!("64MiB"), json!("1 KiB"), json!("5kB"), json!(1), json!(null)] {
        accepted.push(json!({"capacity_bytes": bytes}));
    }
    for bytes in [json!("64"), json!("-1B"), json!("1.5MiB"), json!("64mib"), json!(0)] {
        refused.push(json!({"capacity_bytes": bytes}));
    }
    let tiers = |tier: Value| json!({"leak": {"tiers": [tier]}});
    accepted.extend(
        [
            json!({"kind": "bucket", "rate": "10/s", "burst": 20}),
            json!({"kind": "bucket", "limit": 10, "period": "1m 30s", "burst": null}),
            json!({"kind": "gate", "period": "PT1S"}),
            json!({"kind": "gate", "limit": 1, "period": "33ms"}),
            json!({"kind": "gate", "rate": "1/s"}),
            json!({"kind": "fixed", "rate": "10000/day", "align": "first"}),
            json!({"kind": "fixed", "limit": 10_000, "period": "1d", "align": "epoch"}),
            json!({"kind": "fixed", "limit": 10_000, "period": "month", "align": "calendar(Europe/Berlin)"}),
        ]
        .map(tiers),
    );
    refused.extend(
        [
            json!({"kind": "bucket", "rate": "10/s", "limit": 10}),
            json!({"kind": "bucket", "limit": 10}),
            json!({"kind": "gate", "period": "1s", "limit": 2}),
            json!({"kind": "gate", "period": "1s", "burst": 2}),
            json!({"kind": "fixed", "limit": 1, "period": "1s", "align": "soon"}),
            json!({"kind": "fixed", "limit": 1, "period": "10"}),
            json!({"kind": "log", "rate": "10/s"}),
            json!({"kind": "bucket", "rate": "10"}),
        ]
        .map(tiers),
    );
    for change in accepted {
        assert!(schema.is_valid(&change), "the description refuses {change}");
        let answer = harness.ask("PATCH /v1/buckets/b", &[JSON], change.to_string()).await;
        assert_eq!(answer.status, 200, "{change}: {answer:?}");
    }
    for change in refused {
        assert!(!schema.is_valid(&change), "the description allows {change}");
        harness.ask("PATCH /v1/buckets/b", &[JSON], change.to_string()).await.refuses(422, "bad_member");
    }
}

#[tokio::test]
async fn the_schema_of_an_option_accepts_what_the_intake_accepts() {
    let (harness, published) = (Harness::start().await, Published::new());
    let in_batch = published.component("BatchItem");
    let jobs = "/v1/buckets/{bucket}/jobs";
    for (member, header) in
        [("delay", "Dripfeed-Delay"), ("expires_in", "Dripfeed-Expires-In"), ("timeout", "Dripfeed-Timeout")]
    {
        let in_header = published.parameter(jobs, "post", header);
        for (texts, status) in DURATIONS.iter().zip([202, 422]) {
            for text in *texts {
                // An attempt takes an hour at most.
                if member == "timeout" && duration::parse(text).is_ok_and(|time| time > Duration::from_hours(1)) {
                    continue;
                }
                let item = json!({"body": 1, "options": {member: text}});
                assert_eq!(in_batch.is_valid(&item), status == 202, "{item}");
                assert_eq!(in_header.is_valid(&json!(text)), status == 202, "{header}: {text}");
                let answer = harness.ask("POST /v1/buckets/b/jobs/batch", &[JSON], format!("[{item}]")).await;
                assert_eq!(answer.json()["items"][0]["status"], status, "{item}: {answer:?}");
                let answer = harness.ask("POST /v1/buckets/b/jobs", &[(header, text)], "").await;
                assert_eq!(answer.status, status, "{header}: {text}: {answer:?}");
                harness.post("/v1/buckets/b/purge").await;
            }
        }
    }
    for (key, status) in
        [("order-17", 202), ("\"quoted\"", 202), ("\"", 202), ("a b", 202), ("ü", 202), ("", 400), ("a\tb", 400)]
    {
        let item = json!({"body": 1, "options": {"idempotency_key": key}});
        assert_eq!(in_batch.is_valid(&item), status == 202, "{item}");
        let answer = harness.ask("POST /v1/buckets/b/jobs/batch", &[JSON], format!("[{item}]")).await;
        assert_eq!(answer.json()["items"][0]["status"], status, "{item}: {answer:?}");
    }
}

#[tokio::test]
async fn the_schema_of_a_window_accepts_what_the_intake_accepts() {
    let (harness, published) = (Harness::start().await, Published::new());
    let window = published.parameter("/v1/buckets/{bucket}/report", "get", "window");
    let [accepted, refused] = DURATIONS;
    let ask =
        async |text: &str| harness.get(&format!("/v1/buckets/b/report?window={}", text.replace(' ', "%20"))).await;
    for text in accepted.iter().filter(|text| **text != "500ms") {
        assert!(window.is_valid(&json!(text)), "{text}");
        assert_eq!(ask(text).await.status, 200, "{text}");
    }
    for text in refused {
        assert!(!window.is_valid(&json!(text)), "{text}");
        assert_eq!(ask(text).await.status, 422, "{text}");
    }
}

/// A policy with these members besides, or instead of, its own.
fn policy(members: &Value) -> Value {
    let mut policy = json!({"id": "a", "tiers": [{"kind": "bucket", "rate": "10/s", "burst": 20}]});
    let of_policy = policy.as_object_mut().unwrap();
    of_policy.extend(members.as_object().unwrap().clone());
    json!({ "policies": [policy] })
}

#[tokio::test]
async fn the_schema_of_rules_accepts_what_the_intake_accepts() {
    let (harness, published) = (Harness::start().await, Published::new());
    let schema = published.component("Rules");
    let put = async |rules: &Value| harness.ask("PUT /v1/services/shop/rules", &[JSON], rules.to_string()).await;
    let tier = |tier: Value| json!({ "tiers": [tier] });
    for members in [
        json!({}),
        json!({"enabled": false}),
        json!({"mode": "shadow"}),
        json!({"mode": "off"}),
        json!({"key": ["caller", "tenant", "endpoint", "ip", "header:x-shop"]}),
        json!({"match": {"path": "/v1/{org}/**"}, "key": ["path:org"]}),
        json!({"match": {"methods": ["PUT", "POST"]}}),
        json!({"cost": 2}),
        json!({"cost": {"header": "x-cost"}}),
        json!({"cost": null, "sync": null, "message": null, "match": {"path": null}}),
        json!({"consistency": "leased"}),
        json!({"consistency": "async", "sync": "1s"}),
        json!({"on_store_error": "local"}),
        json!({"message": "retry-with-exponential-backoff", "max_scopes": 1000}),
        tier(json!({"kind": "bucket", "limit": 10, "period": "1m 30s"})),
        tier(json!({"kind": "gate", "period": "PT1S", "limit": null, "burst": null, "align": null})),
        tier(json!({"kind": "fixed", "rate": "10000/day", "align": "first"})),
        tier(json!({"kind": "fixed", "limit": 10, "period": "month", "align": "calendar(Europe/Berlin)"})),
        tier(json!({"kind": "sliding", "limit": 10, "period": "1m"})),
        tier(json!({"kind": "log", "limit": 10, "period": "1m", "min_gap": "10ms", "count_denied": true})),
    ] {
        let rules = policy(&members);
        assert!(schema.is_valid(&rules), "the description refuses {rules}");
        let answer = put(&rules).await;
        assert!(answer.status.is_success(), "{rules}: {answer:?}");
    }
    for members in [
        json!({"name": "a"}),
        json!({"id": "a b"}),
        json!({"id": ""}),
        json!({"enabled": "yes"}),
        json!({"mode": "maybe"}),
        json!({"key": ["nobody"]}),
        json!({"key": "caller"}),
        json!({"match": {"methods": ["P T"]}}),
        json!({"match": {"path": "v1"}}),
        json!({"match": {"host": "a"}}),
        json!({"cost": -1}),
        json!({"cost": {"field": "/n"}}),
        json!({"consistency": "eventual"}),
        json!({"on_store_error": "maybe"}),
        json!({"max_scopes": 0}),
        json!({"max_scopes": null}),
        json!({"tiers": []}),
        json!({"tiers": null}),
        tier(json!({"kind": "leaky", "rate": "1/s"})),
        tier(json!({"rate": "1/s"})),
        tier(json!({"kind": "bucket", "limit": 0, "period": "1s"})),
        tier(json!({"kind": "bucket", "rate": "1/s", "burst": 0})),
        tier(json!({"kind": "bucket", "rate": "1/s", "weight": 1})),
    ] {
        let rules = policy(&members);
        assert!(!schema.is_valid(&rules), "the description allows {rules}");
        let answer = put(&rules).await;
        assert_eq!(answer.status, 422, "{rules}: {answer:?}");
    }
}

/// Each value below `schema` that is an example of it.
fn examples<'v>(value: &'v Value, found: &mut Vec<(&'v Value, &'v Value)>) {
    match value {
        Value::Object(members) => {
            let is_schema = ["type", "$ref", "oneOf", "allOf"].iter().any(|member| members.contains_key(*member));
            if is_schema {
                found.extend(members.get("example").map(|example| (value, example)));
                let more = members.get("examples").and_then(Value::as_array).into_iter().flatten();
                found.extend(more.map(|example| (value, example)));
            }
            members.values().for_each(|value| examples(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| examples(value, found)),
        _ => {}
    }
}

#[test]
fn every_published_example_is_one() {
    let published = Published::new();
    let mut found = Vec::new();
    examples(&published.0, &mut found);
    assert!(found.len() > 20, "{found:?}");
    for (schema, example) in found {
        assert!(published.validator(schema).is_valid(example), "{example} isn't of {schema}");
    }
}

fn file(path: &str) -> String {
    fs::read_to_string(format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// `name = [ … ]`, wherever it stands, also in a comment.
fn lists(text: &str, name: &str) -> Vec<Value> {
    let begins = format!("{name} = [");
    let lines = text.lines().filter_map(|line| line.split_once(&begins).map(|(_, rest)| rest));
    let lists = lines.filter(|rest| rest.contains('{')).map(|rest| {
        let list = &rest[..=rest.rfind(']').unwrap()];
        let document: toml::Table = toml::from_str(&format!("list = [{list}")).unwrap();
        serde_json::to_value(&document["list"]).unwrap()
    });
    lists.collect()
}

/// Of each `curl … --json '…'`: the method, the path, and the body.
fn requests(text: &str) -> Vec<(String, &str, Value)> {
    let commands = text.split("curl ").skip(1).filter_map(|command| command.split_once("--json '"));
    let commands = commands.filter(|(options, _)| !options.contains('\n'));
    let requests = commands.map(|(options, rest)| {
        let after =
            |begin: &str| options.split_once(begin).map(|(_, rest)| rest.split([' ', '\'', '?']).next().unwrap());
        let body = rest.split('\'').next().unwrap();
        let method = after("-X ").unwrap_or("POST").to_lowercase();
        (method, after("http://127.0.0.1:7180").expect("an address"), serde_json::from_str(body).expect(body))
    });
    requests.collect()
}

#[test]
fn the_examples_of_the_documentation_are_as_the_description_says() {
    let published = Published::new();
    let policy = |tiers: &Value| json!({"policies": [{"id": "a", "tiers": tiers}]});
    let rules = published.component("Rules");
    let mut seen = 0;
    for path in ["README.md", "config/default.toml", "config/examples/partner-api.toml"] {
        for tiers in lists(&file(path), "tiers") {
            assert!(rules.is_valid(&policy(&tiers)), "{path}: {tiers}");
            seen += 1;
        }
    }
    assert!(seen >= 3, "{seen} lists of tiers");
    let readme = file("README.md");
    let calls = requests(&readme);
    assert!(calls.len() >= 10, "{calls:?}");
    for (method, path, body) in calls {
        assert!(published.body(&method, path).is_valid(&body), "{method} {path}: {body}");
    }
    let options =
        readme.lines().filter(|line| line.starts_with("| `")).flat_map(|line| line.split('`').skip(1).step_by(2));
    let headers = options.filter_map(|option| option.split_once(": "));
    let mut checked = 0;
    for (header, value) in headers.filter(|(header, _)| !header.contains('<')) {
        let schema = published.parameter("/v1/buckets/{bucket}/jobs", "post", header);
        // In a header a number is text, too.
        let forms = [json!(value), serde_json::from_str(value).unwrap_or_default()];
        assert!(forms.iter().any(|form| schema.is_valid(form)), "{header}: {value}");
        checked += 1;
    }
    assert!(checked >= 5, "{checked} options");
}

#[tokio::test]
async fn routes_that_are_added_to_an_intake_are_described_with_it() {
    let harness = Harness::start().await;
    let added = r#"{"openapi":"3.1.0","info":{"title":"","version":""},"paths":{"/v1/dev/upstream":{"get":{
        "operationId":"get_dev_upstream","responses":{}}}}}"#;
    harness.intake.describe(serde_json::from_str(added).unwrap());
    let paths = harness.get("/openapi.json").await.json()["paths"].clone();
    assert_eq!(paths["/v1/dev/upstream"]["get"]["operationId"], "get_dev_upstream");
    assert_eq!(paths["/v1/buckets"]["get"]["operationId"], "list_buckets");
}
