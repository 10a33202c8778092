use dripfeed_store::Durability;
use serde_json::{Value as Json, json};

use super::{Folder, layers, load};
use crate::settings::Settings;

fn settings(toml: &str) -> Settings {
    let folder = Folder::new();
    load(&layers([folder.file("dripfeed.toml", toml)]))
}

fn faults(settings: &Settings, definition: &Json) -> Vec<String> {
    let name = "team-a.mail".parse().unwrap();
    let faults = settings.definitions.prepare(&name, definition, None).map(|_| ()).unwrap_err();
    faults.into_iter().map(|fault| format!("{}: {}", fault.place, fault.message)).collect()
}

#[test]
fn a_definition_is_read_as_a_section_over_the_defaults() {
    let settings = settings(
        r#"
        [define]
        upstreams = ["https://*.partner.example"]
        [defaults]
        capacity = 7
        leak.rate = "5/s"
        [buckets.file]
        upstream = "https://api.partner.example/"
        leak.burst = 3
        "#,
    );
    let definition = json!({ "upstream": "https://api.partner.example/", "leak": { "burst": 3 } });
    let name = "file".parse().unwrap();
    let read = settings.definitions.read(&name, &definition, None).unwrap_or_else(|faults| unreachable!("{faults:?}"));
    let configured = &settings.buckets["file"];
    assert_eq!(read.settings(Durability::Process), configured.settings(Durability::Process));
    assert_ne!(read.upstream, configured.upstream, "a private address is for the operator to allow");
}

#[test]
fn no_credential_of_the_defaults_goes_to_an_upstream_of_others() {
    let with = |defaults: &str| {
        settings(&format!("[define]\nupstreams = [\"https://a.example\"]\n[defaults]\n{defaults}"))
            .definitions
            .read(&"b".parse().unwrap(), &json!({ "upstream": "https://a.example/" }), None)
            .unwrap_or_else(|faults| unreachable!("{faults:?}"))
            .upstream
    };
    let plain = with("");
    for defaults in [
        "headers = { Authorization = \"Bearer secret\" }",
        "signing_secret = \"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"",
        "allow_private = true",
    ] {
        assert!(with(defaults) == plain, "{defaults}");
    }
}

#[test]
fn all_that_is_wrong_with_a_definition_is_reported_with_its_place() {
    let settings = settings("[define]\nupstreams = [\"https://a.example\"]");
    let wrong = json!({
        "upstream": "https://a.example/", "capacity": 0, "leak": { "rate": "fast" },
        "retry": { "first": "1h", "max": "1m" },
    });
    insta::assert_snapshot!(faults(&settings, &wrong).join("\n"));
    assert_eq!(
        faults(&settings, &json!({ "upstream": "https://b.example/" })),
        ["upstream: isn't allowed by define.upstreams"]
    );
    let stages = json!({
        "upstream": "https://b.example/#here", "headers": { "Host": "canary" }, "signing_secret": "short",
        "headers_file": "/etc/passwd", "key": "mine", "keep": { "most_dead": 1_000_000_000 },
        "limits": [{ "id": "a", "cost": 2, "tiers": [{ "kind": "gate", "period": "1s", "burst": 1 }, 7] }],
    });
    let readable = json!({
        "upstream": "https://b.example/", "headers": { "A": "b" }, "allow_private": true,
        "leak": { "concurrency": 1000 }, "keep": { "most_dead": 1_000_000_000 },
    });
    insta::assert_snapshot!([stages, readable].map(|wrong| faults(&settings, &wrong).join("\n")).join("\n\n"));
}

#[test]
fn keys_name_buckets_that_may_come() {
    let key = "[[keys]]\nid = \"a\"\nsha256 = \"{}\"\nscopes = [\"define\"]\n".replace("{}", &"0".repeat(64));
    let named = |define: &str, buckets: &str| super::reported(&format!("{define}\n{key}buckets = [{buckets}]"));
    let define = "[define]\nupstreams = [\"https://a.example\"]";
    for buckets in ["\"team-a-*\"", "\"mail\"", "\"*\""] {
        assert_eq!(named(define, buckets), "taken", "{buckets}");
    }
    assert_eq!(named("", "\"team-a-*\""), "taken");
    assert!(named("", "\"mail\"").contains("unknown bucket `mail`"), "a slip of the pen");
    assert!(named(define, "\"-*\"").contains("unknown bucket `-*`"), "no name begins so");
}
