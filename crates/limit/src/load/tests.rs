#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use super::*;
use crate::policy::Mode;
use crate::policy::consistency::{Consistency, OnStoreError};
use crate::policy::cost::Cost;
use crate::policy::request::Request;
use crate::policy::tier::{Align, TierKind};

const YAML: &str = "
policies:
  - id: put-product
    enabled: true
    mode: shadow
    match: { methods: [PUT], path: '/v1/organizations/{org}/product/{id}' }
    key: [tenant, endpoint, 'header:x-region', 'path:id']
    cost: { header: x-cost }
    tiers:
      - { kind: bucket, limit: 10, period: 1s, burst: 20 }
      - { kind: gate, period: 250ms }
      - { kind: fixed, rate: 200/500ms, spread: tenant }
      - { kind: fixed, limit: 10000, period: day, align: calendar(Europe/Berlin) }
      - { kind: sliding, rate: 100/m }
      - { kind: log, limit: 300, period: 10s, min_gap: 10ms, count_denied: true }
      - { kind: concurrent, limit: 5, lease: 30s }
    on_store_error: open
    message: retry-with-exponential-backoff
";

fn faults(result: Result<Policies, LoadError>) -> Vec<String> {
    result.unwrap_err().to_string().lines().map(str::to_owned).collect()
}

#[test]
fn a_policy_reads_as_it_is_documented() {
    let policies = yaml(YAML).unwrap();
    let policy = policies.iter().next().unwrap();
    let settings = policy.settings();
    assert_eq!((settings.mode, settings.enabled), (Mode::Shadow, true));
    assert_eq!(settings.cost, Cost::Header("x-cost".parse().unwrap()));
    assert_eq!(settings.on_store_error, OnStoreError::Open);
    assert_eq!(settings.message.as_deref(), Some("retry-with-exponential-backoff"));
    let key: Vec<String> = settings.key.iter().map(ToString::to_string).collect();
    assert_eq!(key, ["tenant", "endpoint", "header:x-region", "path:id"]);
    let tiers: Vec<String> = settings.tiers.iter().map(ToString::to_string).collect();
    assert_eq!(
        tiers,
        [
            "bucket of 10 per 1s",
            "gate of 1 per 250ms",
            "fixed of 200 per 500ms",
            "fixed of 10000 per 24h",
            "sliding of 100 per 1m",
            "log of 300 per 10s",
            "concurrent of 5 per 30s",
        ]
    );
    assert_eq!(settings.tiers[0].kind(), &TierKind::Bucket { burst: 20 });
}

#[test]
fn toml_and_json_read_the_same() {
    let from_toml = toml(
        "[[policies]]\nid = \"a\"\nkey = [\"caller\"]\nconsistency = \"async\"\nsync = \"500ms\"\n\
         tiers = [{ kind = \"bucket\", rate = \"10/s\" }]\n",
    );
    let from_json = json(
        r#"{"policies":[{"id":"a","key":["caller"],"consistency":"async","sync":"500ms",
            "tiers":[{"kind":"bucket","limit":10,"period":"1s"}]}]}"#,
    );
    let (from_toml, from_json) = (from_toml.unwrap(), from_json.unwrap());
    let settings = |policies: &Policies| policies.iter().next().map(|policy| format!("{:?}", policy.settings()));
    assert_eq!(settings(&from_toml), settings(&from_json));
    let policy = from_toml.iter().next().unwrap();
    assert_eq!(policy.settings().consistency, Consistency::Async { sync: Duration::from_millis(500) });
    // Without a burst, a period's worth may come at once.
    assert_eq!(policy.tiers()[0].kind(), &TierKind::Bucket { burst: 10 });
}

#[test]
fn the_published_service_levels_load_as_they_are() {
    let policies = yaml(
        "
slas:
  - id: get-product
    enabled: true
    match:
      methods:
        - GET
      pathPattern: /v1/organizations/{orgId}/product/{id}
    tiers:
      - period: 1
        threshold: 100
      - period: 60
        threshold: 1000
  - id: put-product
    enabled: false
    match:
      methods: [PUT]
      pathPattern: '^/v1/organizations/.*/product/[^/]*$'
    tiers:
      period: 1
      threshold: 10
",
    )
    .unwrap();
    let [get, put] = policies.iter().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(get.tiers()[1].to_string(), "fixed of 1000 per 1m");
    assert_eq!(get.tiers()[0].kind(), &TierKind::Fixed(Align::Epoch { spread: None }));
    assert!(!put.is_active());
    assert_eq!(put.settings().matching.path().unwrap().to_string(), "/v1/organizations/*/product/*");
    let keys = crate::ScopeKeys::new("dripfeed", "shop", dripfeed_store::Salt::default());
    let scope = |org: &str| {
        let path = format!("/v1/organizations/{org}/product/7");
        let request = Request::new("GET", &path);
        let (policy, variables) = policies.of(&request).remove(0);
        policy.scope(&request, &variables, &keys).values
    };
    assert_ne!(scope("acme")[0], scope("globex")[0]);
    assert_eq!(scope("acme")[1], scope("globex")[1]);
}

#[test]
fn a_tier_of_a_service_level_that_is_no_tier_says_what_to_use() {
    let refused = yaml("slas: [{ id: a, match: { pathPattern: /a }, tiers: [{ period: 1s, threshold: 1 }] }]");
    let why = refused.map(|_| ()).unwrap_err().to_string();
    assert!(why.contains("slas[0].tiers: use a tier with a `period` in seconds"), "{why}");
}

#[test]
fn off_and_no_are_texts_in_yaml() {
    let policies = yaml(
        "
policies:
  - id: no
    mode: off
    enabled: true
    message: yes
    tiers: [{ kind: gate, period: 1s }]
",
    )
    .unwrap();
    let settings = policies.iter().next().unwrap().settings();
    assert_eq!((settings.id.as_str(), settings.message.as_deref()), ("no", Some("yes")));
    assert_eq!(settings.mode, Mode::Off);
}

#[test]
fn a_published_pattern_that_leaves_the_rest_open_is_one_endpoint() {
    for pattern in ["/v1/.*", "^/v1/.+$", ".*", "^.+$"] {
        let slas =
            format!("slas: [{{ id: a, match: {{ pathPattern: '{pattern}' }}, tiers: {{ period: 1, threshold: 1 }} }}]");
        let policies = yaml(&slas).unwrap();
        let keys = crate::ScopeKeys::new("dripfeed", "shop", dripfeed_store::Salt::default());
        let scope = |path| {
            let request = Request::new("GET", path);
            let (policy, variables) = policies.of(&request).remove(0);
            policy.scope(&request, &variables, &keys).key
        };
        assert_eq!(scope("/v1/a"), scope("/v1/a/b"), "{pattern}");
        assert_eq!(policies.of(&Request::new("GET", "/")).is_empty(), pattern.contains("v1"), "{pattern}");
    }
}

#[test]
fn a_published_pattern_that_is_more_of_a_regular_expression_is_refused() {
    let patterns = [
        r"/v1/users/\d+",
        "/v1/users/[0-9]+",
        "/v1/(a|b)",
        "/v1/a|/v1/b",
        "/v1/a+",
        "/v1/x(/.*)?",
        r"/v1/[^/]+\.json",
        "/v1/^a",
        ".*/product",
        "v1/.*",
        "",
    ];
    let slas = |pattern| {
        format!("slas: [{{ id: a, match: {{ pathPattern: '{pattern}' }}, tiers: {{ period: 1, threshold: 1 }} }}]")
    };
    for pattern in patterns {
        let reported = faults(yaml(&slas(pattern)));
        assert!(reported[0].starts_with("slas[0].match: ") && reported[0].contains(pattern), "{reported:?}");
    }
    assert!(yaml(&slas("/v1/file.json")).is_ok());
}

#[test]
fn all_that_is_wrong_is_told_with_its_place() {
    let reported = faults(yaml(
        "
policies:
  - { id: a b, key: [caller, user], cost: -1, tiers: [{ kind: bucket, limit: 10, period: 10 }] }
  - id: b
    match: { path: v1 }
    tiers:
      - { kind: log, limit: 10, period: 1s, burst: 3 }
      - { kind: leaky, limit: 10, period: 1s }
      - { kind: bucket, limit: 0, period: 1s }
      - { kind: gate, limit: 2, period: 1s }
      - { kind: sliding, limit: 1, period: 1s, rate: 1/s }
      - { kind: concurrent, limit: 1 }
      - { kind: fixed, limit: 1, period: 1h, align: calendar(UTC) }
      - { kind: fixed, limit: 1, period: 1s, align: first, spread: tenant }
  - { id: c, tiers: [], limit: 3 }
  - { id: d, tiers: [] }
  - { id: e, sync: 1s, tiers: [{ kind: bucket, rate: 10 per second }] }
  - { id: f, cost: 3, tiers: [{ kind: bucket, rate: 10/s }, { kind: gate, period: 1s }] }
  - nothing
",
    ));
    let expected = [
        "policies[0].id: `a b` is not a valid id",
        "policies[0].key[1]: `user` is not a valid part of a key",
        "policies[0].cost: must be a whole number",
        "policies[0].tiers[0].period: invalid type: integer `10`, expected a string",
        "policies[1].match: the path template `v1` doesn't begin with a slash",
        "policies[1].tiers[0]: `burst` is not supported by the kind `log`",
        "policies[1].tiers[1]: `leaky` is not a kind",
        "policies[1].tiers[2]: a limit of 0 allows nothing",
        "policies[1].tiers[3]: a gate's limit is 1, not 2",
        "policies[1].tiers[4]: a limit is given twice",
        "policies[1].tiers[5]: missing `lease`",
        "policies[1].tiers[6]: `1h` is not a calendar unit",
        "policies[1].tiers[7]: only windows with align `epoch` can be spread",
        "policies[2].limit: unknown field `limit`",
        "policies[2].tiers: the policy has no tiers",
        "policies[3].tiers: the policy has no tiers",
        "policies[4].tiers[0]: `10 per second` is not a rate",
        "policies[4].sync: `sync` is only for consistency async",
        "policies[5].tiers[1]: a cost of 3 never passes this tier",
        "policies[6]: not an object",
    ];
    for (reported, expected) in reported.iter().zip(&expected) {
        assert!(reported.starts_with(expected), "{reported}\n{expected}");
    }
    assert_eq!(reported.len(), expected.len(), "{reported:#?}");
}

/// What stands in the place of a tier that can't be read is never a tier.
#[test]
fn no_tier_may_be_null() {
    for text in ["[null]", "[{ kind: gate, period: 1s }, null]", "[7]", "null", "[]"] {
        assert!(yaml(&format!("policies: [{{ id: a, tiers: {text} }}]")).is_err(), "{text}");
    }
    assert!(yaml("slas: [{ id: a, tiers: [null] }]").is_err());
}

#[test]
fn nothing_that_is_wrong_hides_anything_else_nor_makes_up_more() {
    let document = yaml(
        "
policies:
  - { id: 7, mode: harsh, enabled: 'yes', speed: 1, host: a, cost: 3, max_scopes: 0,
      tiers: [{ kind: gate, period: 10, burst: '3', align: first }, { kind: bucket, rate: 2/s }] }
  - { id: b, key: [nobody, 7, 'path:org'], tiers: 7 }
  - { id: d, match: { methods: ['P T', PUT, ''], path: v1 } , tiers: [{ kind: gate, period: 1s }] }
  - { id: c, match: { methods: PUT, path: '/{x', host: a }, key: ['path:x', 'path:y'],
      tiers: [{ kind: fixed, rate: 1/s, spread: tenant }, 7] }
  - { id: c, key: [nobody], consistency: fast, sync: 1s, tiers: [{ kind: fixed, rate: 1/s, spread: tenant }] }
  - { id: c, tiers: [{ period: 1s }, { kind: gate, period: 1s, burst: 3, lease: 4s, rate: 3/s }] }
  - { message: hello }
",
    );
    let places: Vec<String> = document.unwrap_err().faults().iter().map(|fault| fault.place.clone()).collect();
    let mut expected = vec![
        "policies[4].id",
        "policies[5].id",
        "policies[0].id",
        "policies[0].mode",
        "policies[0].enabled",
        "policies[0].speed",
        "policies[0].host",
        "policies[0].tiers[0].period",
        "policies[0].tiers[0].burst",
        "policies[0].tiers[0]",
        "policies[0].tiers[1]",
        "policies[0].max_scopes",
        "policies[1].tiers",
        "policies[1].key[0]",
        "policies[1].key[1]",
        "policies[1].key[2]",
        "policies[2].match",
        "policies[2].match",
        "policies[2].match",
        "policies[3].match.methods",
        "policies[3].match.host",
        "policies[3].match",
        "policies[3].tiers[1]",
        "policies[3].tiers[0]",
        "policies[4].consistency",
        "policies[4].key[0]",
        "policies[5].tiers[0]",
        "policies[5].tiers[1]",
        "policies[5].tiers[1]",
        "policies[5].tiers[1]",
        "policies[6]",
        "policies[6]",
    ];
    expected.sort_unstable();
    let mut sorted = places.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected, "{places:#?}");
}

#[test]
fn a_period_is_whole_microseconds() {
    for period in ["1500.5us", "1ns", "0.0000001s"] {
        let reported = faults(yaml(&format!("policies: [{{ id: a, tiers: [{{ kind: gate, period: {period} }}] }}]")));
        assert!(reported[0].contains("whole microseconds"), "{reported:?}");
    }
    assert!(yaml("policies: [{ id: a, tiers: [{ kind: gate, period: 1500us }] }]").is_ok());
    assert!(yaml("policies: [{ id: a, tiers: [{ kind: gate, period: 1.5ms }] }]").is_ok());
}

#[test]
fn a_document_is_one_list_with_each_id_once() {
    let twice =
        "policies: [{ id: a, tiers: [{ kind: bucket, rate: 1/s }] }, { id: a, tiers: [{ kind: bucket, rate: 1/s }] }]";
    assert_eq!(faults(yaml(twice)), ["policies[1].id: two policies have the id `a`"]);
    for text in ["", "policies: 1", "rules: []", "policies: []\nslas: []", "- 1"] {
        assert_eq!(faults(yaml(text)).len(), 1, "{text}");
    }
    assert_eq!(faults(yaml("policies: [")), ["line 1 column 11: unclosed bracket '['"]);
    let twice = "line 2 column 1: duplicate mapping key `policies` is not allowed here";
    assert_eq!(faults(yaml("policies: []\npolicies: []\n")), [twice]);
    let two = "line 3 column 1: only single YAML document expected but multiple found";
    assert_eq!(faults(yaml("policies: []\n---\npolicies: []\n")), [two]);
    assert!(faults(toml("policies = [")).join("\n").contains("line 1"));
    assert!(faults(json("{\"policies\":[}")).join("\n").contains("line 1"));
    assert!(yaml("policies: []").unwrap().is_empty());
}
