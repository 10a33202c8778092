use dripfeed_bucket::{Overrides, RUN_TIME_SETTINGS};

use crate::intake::{BUCKET, Intake};
use crate::program::{dripfeed, ended, redis, run, run_with_input, write};

#[test]
fn no_server_is_unreachable_for_every_command() {
    let nobody = ["--server", "http://127.0.0.1:1"];
    for command in [
        ["buckets"].as_slice(),
        &["top", "--once"],
        &["jobs", "mail"],
        &["job", "mail", "1-0"],
        &["jobs", "mail", "--cancel", "--caller", "x", "--yes"],
        &["history", "mail"],
        &["dead", "mail"],
        &["pause", "mail"],
        &["resume", "mail"],
        &["purge", "mail", "--yes"],
        &["schedule", "mail"],
        &["set", "mail", "capacity=5"],
        &["push", "mail", "--body", "x"],
        // Options of the connection may also follow the inner command.
        &["dead", "mail", "list"],
        &["dead", "mail", "replay", "1-0"],
        &["dead", "mail", "delete", "1-0"],
        &["dead", "mail", "delete", "--all", "--reason", "gone", "--yes"],
        &["dead", "mail", "-o", "json", "list"],
        &["dead", "mail", "list", "-o", "json"],
        &["jobs", "mail", "export"],
        &["outcomes", "mail", "export"],
        &["schedule", "mail", "show", "nightly"],
        &["bucket", "show", "mail"],
        &["key", "list"],
    ] {
        let ended = run(&[command, &nobody].concat());
        assert_eq!(ended.code, Some(69), "{command:?}: {}", ended.err);
        assert!(ended.out.is_empty() && ended.err.contains("127.0.0.1:1"), "{command:?}: {}", ended.err);
    }
    let ended = run_with_input(&[["push", "mail", "--ndjson", "-"].as_slice(), &nobody].concat(), "{\"body\":1}\n");
    assert_eq!(ended.code, Some(69), "{}", ended.err);
}

#[test]
fn an_empty_variable_names_no_certificates() {
    for (command, code) in
        [(["buckets", "--server", "http://127.0.0.1:1"].as_slice(), 69), (&["ready", "http://127.0.0.1:1"], 1)]
    {
        let ended = ended(dripfeed(command).env("DRIPFEED_CA", "").output().unwrap());
        assert!(ended.code == Some(code) && ended.err.contains("can't connect"), "{}", ended.err);
    }
    let ended = ended(dripfeed(&["buckets"]).env("DRIPFEED_SERVER", "").output().unwrap());
    assert!(ended.code == Some(2) && ended.err.contains("DRIPFEED_SERVER"), "{}", ended.err);
}

/// Runtimes of containers know no other codes of a health check.
#[tokio::test]
async fn a_role_is_ready_or_the_health_check_ends_with_1() {
    let intake = Intake::start(BUCKET).await;
    let server = intake.server.clone();
    let ready = run(&["ready", &server]);
    assert_eq!((ready.code, ready.out, ready.err), (Some(0), String::new(), String::new()));
    let intake = intake.without_redis().await;
    // What it knows of Redis is up to a second old.
    let unready = || Some(run(&["ready", &server])).filter(|ended| ended.code != Some(0));
    let ended = std::iter::repeat_with(unready).flatten().next().unwrap();
    assert!(ended.code == Some(1) && ended.err.contains("Redis"), "{}", ended.err);
    drop(intake);
    let ended = run(&["ready", &server]);
    assert!(ended.code == Some(1) && ended.err.contains("can't connect"), "{}", ended.err);
}

#[test]
fn invalid_arguments_are_a_usage_error() {
    for command in [
        [].as_slice(),
        &["fly"],
        &["ready", "ftp://127.0.0.1:7180"],
        &["jobs", "a b"],
        &["jobs", "mail", "--state", "lost"],
        &["job", "mail", "17"],
        &["set", "mail"],
        &["set", "mail", "speed=1"],
        &["jobs", "mail", "--cancel", "--yes"],
        &["jobs", "mail", "--cancel", "--caller", "x"],
        &["jobs", "mail", "--idempotency-key", "x", "--older-than", "1h"],
        &["jobs", "mail", "--cancel", "--idempotency-key", "x", "--yes"],
        &["jobs", "mail", "--limit", "1", "export"],
        &["jobs", "mail", "-o", "table", "export"],
        &["dead", "mail", "export", "-o", "json"],
        &["outcomes", "mail", "export", "--output", "json"],
        &["outcomes", "mail", "export", "-o", "outcomes.csv"],
        &["jobs", "mail", "--cancel", "--state", "parked", "--yes", "export"],
        &["jobs", "mail", "--idempotency-key", "x", "export", "--state", "delivered"],
        &["job", "mail", "1-0", "--payload", "--cancel"],
        &["history", "mail", "--window", "2h"],
        &["dead", "mail", "replay"],
        &["dead", "mail", "replay", "1-0", "--background"],
        &["dead", "mail", "replay", "1-0", "--status", "410"],
        &["dead", "mail", "replay", "1-0", "--rate", "1/s"],
        &["dead", "mail", "delete"],
        &["dead", "mail", "delete", "--all", "--yes"],
        &["dead", "mail", "delete", "--all", "--reason", "gone"],
        &["dead", "mail", "delete", "--reason", "gone", "--yes"],
        &["dead", "mail", "delete", "1-0", "--reason", "gone"],
        &["dead", "mail", "delete", "1-0", "--yes"],
        &["dead", "mail", "replays", "--cancel"],
        &["dead", "mail", "list", "--status", "1000"],
        &["dead", "mail", "list", "--exact-reason"],
        &["purge", "mail"],
        &["schedule", "mail", "put", "nightly", "--body", "1"],
        &["schedule", "mail", "put", "nightly", "--every", "1h"],
        &["schedule", "mail", "put", "nightly", "--every", "1h", "--body", "not json"],
        &["schedule", "mail", "show", "a b"],
        &["bucket", "put", "mail"],
        &["bucket", "show", "a b"],
        &["push", "mail", "--ndjson", "x", "--delay", "1s"],
        &["buckets", "--server", "ftp://127.0.0.1"],
    ] {
        assert_eq!(run(command).code, Some(2), "{command:?}");
    }
}

#[tokio::test]
async fn an_export_writes_what_the_options_before_it_select() {
    let intake = Intake::start(BUCKET).await;
    let run = |command: &[&str]| run(&[command, &["--server", &intake.server]].concat());
    for key in ["k1", "k2"] {
        assert_eq!(run(&["push", "mail", "--body", key, "--idempotency-key", key]).code, Some(0));
    }
    let all = run(&["jobs", "mail", "export"]);
    assert_eq!(all.out.lines().count(), 2, "{}", all.out);
    let one = run(&["jobs", "mail", "--idempotency-key", "k1", "export"]);
    assert_eq!(one.out.lines().next(), all.out.lines().next());
    assert_eq!((one.code, one.out.lines().count()), (Some(0), 1), "{}", one.err);
    let none = run(&["jobs", "mail", "--state", "parked", "export"]);
    assert_eq!((none.code, none.out.as_str()), (Some(0), ""), "{}", none.err);
    let limited = run(&["jobs", "mail", "--limit", "1", "export"]);
    assert!(limited.out.is_empty() && limited.err.contains("dripfeed jobs mail --limit NUMBER"), "{}", limited.err);
    let uncancelled = run(&["jobs", "mail", "--state", "waiting", "--cancel", "--yes", "export"]);
    assert!(uncancelled.err.contains("dripfeed jobs mail --cancel"), "{}", uncancelled.err);
    assert_eq!(run(&["jobs", "mail"]).out.lines().count(), 3, "nothing is cancelled");
    intake.end().await;
}

#[tokio::test]
async fn a_schedule_is_defined_shown_paused_run_and_deleted() {
    let intake = Intake::start(BUCKET).await;
    let run = |command: &[&str]| run(&[&["schedule", "mail", "--server", &intake.server], command].concat());
    let json = |command: &[&str]| -> serde_json::Value {
        let ended = run(&[&["-o", "json"], command].concat());
        assert_eq!(ended.code, Some(0), "{command:?}: {}", ended.err);
        serde_json::from_str(&ended.out).unwrap()
    };
    let nightly = ["put", "nightly", "--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--body", r#"{"n": 1.50}"#];
    let defined = json(&[&nightly[..], &["--missed", "skip", "--grace", "5m", "--overlap", "skip"]].concat());
    assert_eq!(
        (&defined["missed"], &defined["overlap"], &defined["paused"]),
        (&"skip".into(), &"skip".into(), &false.into())
    );
    let shown = run(&["show", "nightly"]);
    assert!(shown.out.contains("30 2 * * * Europe/Berlin"), "{}", shown.out);
    assert_eq!(json(&["pause", "nightly"])["next_at"], serde_json::Value::Null);
    assert!(run(&[]).out.lines().any(|line| line.trim_start().starts_with("nightly") && line.contains("paused")));
    let id = run(&["run", "nightly"]).out.trim().to_owned();
    assert!(id.parse::<dripfeed_job::JobId>().is_ok(), "{id}");
    assert_eq!(json(&["resume", "nightly"])["paused"], false);
    assert_eq!(json(&["list"]).as_array().unwrap().len(), 1);
    assert_eq!(run(&["delete", "nightly"]).code, Some(0));
    assert_eq!(json(&["list"]), serde_json::json!([]));
    let refused = run(&["put", "never", "--cron", "0 0 30 2 *", "--body", "1"]);
    assert!(refused.code == Some(1) && refused.err.contains("cron"), "{:?} {}", refused.code, refused.err);
}

#[tokio::test]
async fn a_bucket_is_created_changed_shown_and_deleted() {
    let intake = Intake::start(&format!("{BUCKET}\n[define]\nupstreams = [\"https://*.partner.example\"]\n")).await;
    let run = |command: &[&str]| run(&[&["bucket", "--server", &intake.server], command].concat());
    let json = |command: &[&str]| -> serde_json::Value {
        let ended = run(&[&["-o", "json"], command].concat());
        assert_eq!(ended.code, Some(0), "{command:?}: {}", ended.err);
        serde_json::from_str(&ended.out).unwrap()
    };
    let upstream = "https://api.partner.example/";
    let created = json(&["put", "team-a", "--upstream", upstream, "--rate", "5/s"]);
    assert_eq!(created["definition"], serde_json::json!({ "upstream": upstream, "leak": { "rate": "5/s" } }));
    let file = write(intake.folder.path(), "team-a.toml", &format!("upstream = \"{upstream}\"\ncapacity = 7\n"));
    let version = created["version"].as_str().unwrap();
    let changed = json(&["put", "team-a", "--file", &file, "--if-match", version]);
    assert_eq!((&changed["capacity"], &changed["pace"]["target"]), (&7.into(), &serde_json::Value::Null));
    let late = run(&["put", "team-a", "--file", &file, "--if-match", version]);
    assert!(late.code == Some(1) && late.err.contains("precondition_failed"), "{:?} {}", late.code, late.err);
    let shown = run(&["show", "team-a"]);
    assert!(shown.out.contains("api.partner.example") && shown.out.contains("VERSION"), "{}", shown.out);
    let elsewhere = run(&["put", "team-b", "--upstream", "https://evil.example/"]);
    assert!(elsewhere.code == Some(1) && elsewhere.err.contains("define.upstreams"), "{}", elsewhere.err);
    let configured = run(&["put", "mail", "--upstream", upstream]);
    assert!(configured.err.contains("configured_bucket"), "{}", configured.err);
    assert_eq!(run(&["delete", "team-a", "--purge"]).code, Some(0));
    assert_eq!(run(&["show", "team-a"]).code, Some(1));
}

#[tokio::test]
async fn a_bucket_is_filled_looked_at_changed_and_emptied() {
    let intake = Intake::start(BUCKET).await;
    let run = |command: &[&str]| run(&[command, &["--server", &intake.server]].concat());
    let json = |command: &[&str]| -> serde_json::Value {
        let ended = run(&[command, &["-o", "json"]].concat());
        assert_eq!(ended.code, Some(0), "{command:?}: {}", ended.err);
        serde_json::from_str(&ended.out).unwrap()
    };

    let id = run(&["push", "mail", "--body", "hello", "--delay", "1h"]).out.trim().to_owned();
    assert_eq!(json(&["job", "mail", &id])["state"], "waiting");
    let payload = json(&["job", "mail", &id, "--payload"])["payload"].take();
    assert_eq!(payload["body"], "hello", "{payload}");
    assert!(run(&["job", "mail", &id, "--payload"]).out.contains("hello"));
    assert!(!run(&["job", "mail", &id]).out.contains("hello"));
    json(&["push", "mail", "--body", "{}"]);
    json(&["push", "mail", "--body", "{}"]);
    let full = run(&["push", "mail", "--body", "{}"]);
    assert_eq!((full.code, full.out.as_str()), (Some(75), ""), "{}", full.err);
    assert!(full.err.contains("bucket_full"), "{}", full.err);

    assert_eq!(json(&["set", "mail", "capacity=4", "leak.rate=10/s"])["capacity"], 4);
    json(&["push", "mail", "--body", "{}"]);
    assert_eq!(json(&["set", "mail", "capacity="])["capacity"], 3, "back to the configured one");
    let in_state = |state: &str| json(&["jobs", "mail", "--state", state]).as_array().unwrap().len();
    assert_eq!((in_state("waiting"), in_state("parked")), (3, 1), "the delayed one doesn't wait for a turn");
    assert_eq!(json(&["jobs", "mail", "--limit", "2"]).as_array().unwrap().len(), 2);
    let listed = |filter: &[&str]| json(&[&["jobs", "mail"], filter].concat()).as_array().unwrap().len();
    assert_eq!(
        (listed(&["--older-than", "1ms"]), listed(&["--older-than", "1h"]), listed(&["--caller", "shop"])),
        (4, 0, 0)
    );
    assert_eq!(run(&["jobs", "mail", "--older-than", "1ms", "export"]).out.lines().count(), 4);
    assert_eq!(run(&["jobs", "mail", "export", "--caller", "shop"]).out, "");
    let long_ago = "2020-01-01T00:00:00Z";
    assert_eq!((listed(&["--since", long_ago]), listed(&["--until", long_ago])), (4, 0));
    assert_eq!(run(&["jobs", "mail", "--until", long_ago, "export"]).out, "");
    assert_eq!(json(&["jobs", "mail", "--cancel", "--until", long_ago, "--yes"])["cancelled"], 0);
    assert_eq!(run(&["jobs", "mail", "--limit", "3"]).out.lines().count(), 4, "heads and three jobs");
    assert_eq!(json(&["pause", "mail"])["paused"], true);
    assert_eq!(json(&["resume", "mail"])["paused"], false);
    assert_eq!(json(&["job", "mail", &id, "--cancel"])["state"], "cancelled");
    assert_eq!(json(&["jobs", "mail", "--cancel", "--older-than", "1h", "--yes"])["cancelled"], 0);
    assert_eq!(run(&["jobs", "mail", "--cancel", "--older-than", "1h", "--yes"]).out, "0 jobs cancelled\n");
    assert_eq!(run(&["dead", "mail", "replay", "--all"]).out, "0 dead letters replayed\n");
    let deleted = run(&["dead", "mail", "delete", "--all", "--reason", "gone", "--yes"]);
    assert_eq!(deleted.out, "0 dead letters deleted\n");
    assert_eq!(json(&["purge", "mail", "--yes"])["purged"], 3);
    let ended = |filter: &[&str]| json(&[&["outcomes", "mail", "list"], filter].concat()).as_array().unwrap().len();
    assert_eq!((ended(&["--since", long_ago]), ended(&["--until", long_ago])), (4, 0));
    let tiers = json(&["set", "mail", r#"fair.tiers=[{"rate":"1000/d","burst":1000}]"#]);
    assert_eq!(tiers["changes"]["fair"]["tiers"][0]["burst"], 1000, "{tiers}");
    json(&["set", "mail", "fair.tiers="]);
    json(&["set", "mail", "fair.by=group"]);
    let high = ["push", "mail", "--body", "x", "--priority", "high", "--group", "eu", "--idempotency-key", "order-7"];
    let id = run(&high).out.trim().to_owned();
    assert_eq!(json(&["jobs", "mail", "--idempotency-key", "order-7"])[0]["id"], *id);
    assert_eq!(listed(&["--idempotency-key", "order-8"]), 0);
    let job = json(&["job", "mail", &id]);
    assert_eq!((&job["priority"], &job["group"]), (&"high".into(), &"eu".into()), "{job}");
    json(&["set", "mail", "fair.by="]);
    let refused = run(&["push", "mail", "--body", "x", "--group", "eu"]);
    assert_eq!((refused.code, refused.err.contains("submit without a group")), (Some(1), true), "{}", refused.err);
    assert_eq!(run(&["purge", "mail", "--yes"]).out, "1 job purged\n");
    let history = json(&["history", "mail", "--window", "1h"]);
    assert_eq!((&history["window"], &history["slot_ms"]), (&"1h".into(), &60_000.into()), "{history}");
    let dead = |command: &[&str]| -> serde_json::Value {
        let ended =
            crate::program::run(&[&["dead", "mail", "--server", &intake.server, "-o", "json"], command].concat());
        assert_eq!(ended.code, Some(0), "{command:?}: {}", ended.err);
        serde_json::from_str(&ended.out).unwrap()
    };
    let group = ["--reason", "gone", "--exact-reason", "--status", "none"];
    assert_eq!(dead(&[&["list"], &group[..]].concat()), serde_json::json!([]));
    assert_eq!(dead(&[&["replay", "--all"], &group[..]].concat()), serde_json::json!({"replayed": 0, "left": 0}));
    let started = dead(&[&["replay", "--all", "--background"], &group[..]].concat());
    assert_eq!((&started["filter"]["status"], &started["filter"]["exact_reason"]), (&"none".into(), &true.into()));
    let replay = dead(&["replay", "--all", "--background"])["id"].as_str().unwrap().to_owned();
    assert_eq!(dead(&["replays"])[0]["id"], replay);
    assert_eq!(dead(&["replays", &replay, "--cancel"])["total"], 0);
    assert_eq!(json(&["buckets"])[0]["level"], 0);
    assert!(run(&["buckets", "mail"]).out.contains("0 of 3"));
    assert_eq!(json(&["dead", "mail"]), serde_json::json!([]));
    assert_eq!(run(&["job", "mail", "1-0"]).code, Some(1), "unknown");
    intake.end().await;
}

#[tokio::test]
async fn every_run_time_setting_is_set_shown_described_and_restored() {
    let intake = Intake::start(BUCKET).await;
    let json = |command: &[&str]| -> serde_json::Value {
        let ended = run(command);
        assert_eq!(ended.code, Some(0), "{command:?}: {}", ended.err);
        serde_json::from_str(&ended.out).unwrap()
    };
    let set =
        |change: String| json(&["set", "mail", &change, "--server", &intake.server, "-o", "json"])["changes"].take();
    let schemas = json(&["openapi"])["components"]["schemas"].take();
    for setting in &RUN_TIME_SETTINGS {
        let name = setting.name;
        let (section, member) = setting.place();
        let schema = match section {
            "" => "Patch",
            "fair" => "FairPatch",
            _ => "LeakPatch",
        };
        assert!(schemas[schema]["properties"][member].is_object(), "{name} is not described");
        let changes = set(format!("{name}={}", setting.example));
        let shown = if section.is_empty() { &changes[member] } else { &changes[section][member] };
        let read = Overrides::of(name, shown.clone()).unwrap();
        assert_eq!(read.iter().next().unwrap().1, Some(shown), "{name} is not shown as it is read: {changes}");
        assert_eq!(set(format!("{name}=")), serde_json::json!({}), "{name} is not restored");
    }
    intake.end().await;
}

#[tokio::test]
async fn a_list_of_several_pages_is_printed_as_one() {
    let intake = Intake::start(&BUCKET.replace("capacity = 3", "capacity = 3000")).await;
    let lines: String = (0..1500).map(|n| format!("{{\"body\":{{\"n\": {n}}}}}\n")).collect();
    let file = write(intake.folder.path(), "jobs.ndjson", &lines);
    let pushed = run(&["push", "mail", "--ndjson", &file, "--server", &intake.server]);
    assert_eq!(pushed.code, Some(0), "{}", pushed.err);
    let jobs = |more: &[&str]| run(&[["jobs", "mail", "--server", &intake.server].as_slice(), more].concat());
    let all: Vec<serde_json::Value> = serde_json::from_str(&jobs(&["--limit", "10000", "-o", "json"]).out).unwrap();
    assert_eq!(all.len(), 1500);
    let table = jobs(&["--limit", "1200"]);
    assert_eq!(table.out.lines().count(), 1201, "the heads once");
    assert_eq!(table.out.matches("STATE").count(), 1);
    intake.end().await;
}

#[tokio::test]
async fn a_stranded_job_is_found_and_repaired() {
    let (folder, redis) = redis(&[]).await;
    let file = write(folder.path(), "dripfeed.toml", BUCKET);
    let url = format!("redis.url={}", redis.url());
    let doctor = |more: &[&str]| run(&[["doctor", "-c", &file, "--set", &url].as_slice(), more].concat());
    assert_eq!(doctor(&[]).out.trim(), "all invariants hold");

    let settings = dripfeed_store::RedisSettings::new(redis.address(), "dripfeed", dripfeed_store::Durability::Process);
    let store = dripfeed_store::Store::connect(&settings).await.unwrap();
    for command in ["ZADD dripfeed:{mail}:parked 1 1700000000000-0", "HSET dripfeed:{mail}:attempts 1700000000000-0 2"]
    {
        let mut words = command.split(' ');
        let mut cmd = redis::cmd(words.next().unwrap());
        words.for_each(|word| {
            cmd.arg(word);
        });
        store.command::<i64>(&cmd).await.unwrap();
    }
    let found = doctor(&["mail"]);
    assert_eq!(found.code, Some(1), "{}", found.err);
    assert!(found.out.contains("due times of jobs that are not parked"), "{}", found.out);
    assert_eq!(doctor(&["--repair"]).code, Some(0));
    assert_eq!(doctor(&[]).out.trim(), "all invariants hold");
    assert_eq!(doctor(&["nobody"]).code, Some(78));

    store.command::<i64>(redis::cmd("HINCRBY").arg("dripfeed:{mail}:tally").arg("accepted").arg(2)).await.unwrap();
    let lost = doctor(&[]);
    assert!(lost.code == Some(1) && lost.err.contains("--repair"), "{}", lost.err);
    let repaired = doctor(&["--repair"]);
    assert_eq!(repaired.code, Some(0), "{}", repaired.err);
    assert!(repaired.err.contains("mail: written off as lost: 2 accepted jobs"), "{}", repaired.err);
    assert_eq!(doctor(&[]).out.trim(), "all invariants hold");
    let mut audit = redis::cmd("XRANGE");
    audit.arg("dripfeed:{mail}:audit").arg("-").arg("+");
    let entries: Vec<(String, std::collections::HashMap<String, String>)> = store.command(&audit).await.unwrap();
    assert_eq!((entries.len(), entries[0].1["action"].as_str()), (1, "write_off"));
    redis.stop().await.unwrap();
}

#[tokio::test]
async fn a_bucket_whose_definition_is_no_longer_allowed_is_reported_as_not_checked() {
    let intake = Intake::start(&format!("{BUCKET}\n[define]\nupstreams = [\"https://*.partner.example\"]\n")).await;
    let upstream = "https://api.partner.example/";
    let created = run(&["bucket", "put", "team-a", "--upstream", upstream, "--server", &intake.server]);
    assert_eq!(created.code, Some(0), "{}", created.err);
    let file = intake.folder.path().join("dripfeed.toml").display().to_string();
    let url = intake.redis_url();
    let doctor = |more: &[&str]| run(&[["doctor", "-c", &file, "--set", &url].as_slice(), more].concat());
    let ended = doctor(&[]);
    assert_eq!((ended.code, ended.out.trim()), (Some(0), "all invariants hold"), "{}", ended.err);
    for upstreams in ["[\"https://elsewhere.example\"]", "[]"] {
        let only = format!("define.upstreams={upstreams}");
        for bucket in [[].as_slice(), &["team-a"]] {
            let ended = doctor(&[bucket, &["--set", &only]].concat());
            assert_eq!((ended.code, ended.out.trim()), (Some(78), "all checked invariants hold"), "{}", ended.err);
            assert!(ended.err.contains("team-a: not checked") && ended.err.contains("upstream"), "{}", ended.err);
        }
        assert_eq!(doctor(&["mail", "--set", &only]).code, Some(0), "of another bucket");
    }
    intake.end().await;
}

#[tokio::test]
async fn buckets_say_what_needs_attention_and_what_to_do() {
    let settings = format!("{BUCKET}\n[buckets.idle]\nupstream = \"http://127.0.0.1:1/\"\n");
    let intake = Intake::start(&settings).await;
    let run = |command: &[&str]| run(&[command, &["--server", &intake.server]].concat());
    assert_eq!(run(&["push", "mail", "--body", "x"]).code, Some(0));
    for command in [["buckets"].as_slice(), &["buckets", "mail"]] {
        let ended = run(command);
        assert!(ended.out.contains("ATTENTION") && ended.out.contains("no_processor"), "{}", ended.out);
        assert_eq!(
            ended.err.trim(),
            "problem: mail: no processor serves it, and 1 job waits: start one: dripfeed -c FILE processor"
        );
    }
    let idle = run(&["buckets", "idle"]);
    assert_eq!((idle.code, idle.err.as_str()), (Some(0), ""), "{}", idle.out);
    assert_eq!(run(&["buckets", "-o", "json"]).err, "");
    intake.end().await;
}

#[tokio::test]
async fn buckets_lists_more_than_one_page_has() {
    let all: Vec<String> = (0..1001).map(|number| format!("b{number:04}")).collect();
    let settings: String =
        all.iter().map(|name| format!("[buckets.{name}]\nupstream = \"http://127.0.0.1:1/\"\n")).collect();
    let intake = Intake::start(&settings).await;
    let listed = run(&["buckets", "-o", "json", "--server", &intake.server]);
    let listed: Vec<serde_json::Value> = serde_json::from_str(&listed.out).unwrap();
    assert_eq!(listed.iter().map(|bucket| bucket["name"].as_str().unwrap()).collect::<Vec<_>>(), all);
    intake.end().await;
}

#[tokio::test]
async fn an_address_that_cannot_be_had_is_answered_with_what_to_do() {
    let intake = Intake::start(BUCKET).await;
    let address = intake.server.trim_start_matches("http://");
    // The other one is for documents: no machine has it.
    for (address, says) in
        [(address, "set another intake.listen (`dripfeed dev` has --port)"), ("192.0.2.1:0", "0.0.0.0")]
    {
        let (listen, redis) = (format!("intake.listen={address}"), intake.redis_url());
        let second = run(&["intake", "--set", &listen, "--set", &redis, "--insecure-no-auth"]);
        assert!(second.code == Some(1) && second.err.contains(says), "{}", second.err);
    }
    intake.end().await;
}
