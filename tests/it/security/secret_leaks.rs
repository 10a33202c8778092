//! Secrets stay secret: canaries in every setting that holds one, and in what callers submit, are found in no log at
//! level trace, no metric, no record of how a job ended, no problem, and nothing that commands print.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use dripfeed_store::Store;
use dripfeed_tests::client::{Client, ClientResponse};
use dripfeed_tests::machine;
use dripfeed_tests::processes::{Process, command};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;
use dripfeed_tests::upstream::{self, Upstream};
use http::Method;
use serde_json::Value;

/// In every secret; and how base64 begins of one that begins with it.
const CANARY: &str = "canary";
const IN_BASE64: &str = "Y2FuYXJ5";

const SIGNING_SECRET: &str = "whsec_Y2FuYXJ5IGNhbmFyeSBjYW5hcnkgY2FuYXJ5";
const CALLERS_KEY: &str = "canary-of-a-caller";
const ITS_HASH: &str = "da67d1893bcb268d032c25fb2075ef6ced37ca77a9ea15008b3e093753f93635";

const SETTINGS: &str = r#"
[redis]
url_file = "{folder}/redis.url"
connect_timeout = "2s"
response_timeout = "2s"
[intake]
listen = "127.0.0.1:0"
[processor]
listen = "127.0.0.1:0"
[log]
level = "trace"
[[keys]]
id = "shop"
sha256 = "{hash}"
scopes = ["submit", "read", "inspect", "operate"]
[defaults]
retry = { attempts = 2, first = "1ms", max = "1ms" }
leak.default_hold = "1ms"
[buckets.willing]
upstream = "{willing}?key=canary-in-the-query"
{secrets}
[buckets.list]
kind = "list"
upstream = "{willing}?key=canary-in-the-query"
{secrets}
[buckets.from_files]
upstream = "{willing}"
headers_file = "{folder}/headers"
signing_secret_file = "{folder}/signing_secret"
[buckets.failing]
upstream = "{failing}?key=canary-in-the-query"
{secrets}
[buckets.refusing]
upstream = "{refusing}?key=canary-in-the-query"
{secrets}
[buckets.cutting]
upstream = "{cutting}?key=canary-in-the-query"
{secrets}
[buckets.absent]
upstream = "http://127.0.0.1:1/?key=canary-in-the-query"
{secrets}
[buckets.garbled]
upstream = "{tls}?key=canary-in-the-query"
{secrets}
[buckets.private]
allow_private = false
upstream = "http://localhost:1/?key=canary-in-the-query"
{secrets}
"#;

/// Of a bucket whose secrets aren't in separate files.
const IN_SETTINGS: &str = r#"headers = { Authorization = "Bearer canary-of-the-upstream" }
signing_secret = ["{secret}"]"#;

/// Where a job ends well, and where it dies.
const WELL: [&str; 3] = ["willing", "list", "from_files"];
const DEADLY: [&str; 6] = ["failing", "refusing", "cutting", "absent", "garbled", "private"];

fn no_canary(place: &str, text: &str) {
    if let Some(found) = text.to_ascii_lowercase().find(CANARY).or_else(|| text.find(IN_BASE64)) {
        let from = text[..found].char_indices().rev().nth(300).map_or(0, |(at, _)| at);
        panic!("a canary in {place}: …{}", text[from..].chars().take(600).collect::<String>());
    }
}

/// Text that may be read by the owner alone.
fn secret(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its mode");
    path
}

async fn upstream_that(answers: upstream::Answer) -> Upstream {
    Upstream::start(move |_| std::future::ready(answers.clone())).await
}

async fn as_caller(client: &Client, method: Method, path: &str, body: &str) -> ClientResponse {
    let request = client.request(method, path).header("dripfeed-key", CALLERS_KEY);
    client.call(request, body.to_owned()).await.expect("an answer")
}

async fn read(client: &Client, path: &str) -> Value {
    let answer = as_caller(client, Method::GET, path, "").await;
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    answer.json()
}

async fn hand_in(client: &Client, bucket: &str) {
    let request = client
        .request(Method::POST, &format!("/v1/buckets/{bucket}/jobs"))
        .header("authorization", format!("Bearer {CALLERS_KEY}"))
        .header("dripfeed-path", "/p?token=canary-in-the-path")
        .header("dripfeed-forward-x-token", "canary-in-a-header");
    let answer = client.call(request, r#"{"card": "canary-in-the-body"}"#).await.expect("an answer");
    assert_eq!(answer.status, 202, "{answer:?}");
    no_canary("a 202", &format!("{answer:?}"));
}

/// What is refused must not repeat what it was given.
async fn is_refused(client: &Client) {
    let jobs = "/v1/buckets/willing/jobs";
    let batch = format!("{jobs}/batch");
    let with = |path: &str, name: &str, value: &str| {
        client.request(Method::POST, path).header("dripfeed-key", CALLERS_KEY).header(name, value)
    };
    let wrong_key = client.request(Method::POST, jobs).header("dripfeed-key", "canary-that-fits-nothing");
    let in_query = client.request(Method::POST, &format!("{jobs}?key={CALLERS_KEY}"));
    for (request, body, status) in [
        (wrong_key, "canary", 401),
        (in_query, "canary", 401),
        (with(jobs, "dripfeed-forward-host", "canary"), "canary", 422),
        (with(&batch, "content-type", "application/json"), r#"[{"body": canary}]"#, 400),
        (with(&batch, "content-type", "application/x-ndjson"), r#"{"body": "canary" "#, 400),
        (with("/v1/buckets/unknown/jobs", "accept", "*/*"), "canary", 404),
    ] {
        let answer = client.call(request, body).await.expect("an answer");
        assert_eq!(answer.status, status, "{answer:?}");
        no_canary("a problem", &format!("{answer:?}"));
    }
}

/// The job itself is kept whole in its dead letter, for a replay, and keys with the scope `inspect` see it.
fn without_jobs(mut letters: Value) -> Value {
    let is_of_job = |member: &str| member.starts_with("body") || ["path", "headers"].contains(&member);
    for letter in letters["items"].as_array_mut().expect("a list") {
        letter.as_object_mut().expect("a letter").retain(|member, _| !is_of_job(member));
    }
    letters
}

async fn in_redis(admin: &Store, key: &str) -> String {
    let mut dump = redis::cmd("EVAL");
    dump.arg(
        "local found = {}
         for _, letter in ipairs(redis.call('XRANGE', KEYS[1] .. 'dead', '-', '+')) do
           for i = 1, #letter[2], 2 do
             local name = letter[2][i]
             if name == 'reason' or name == 'outcome' then found[#found + 1] = letter[2][i + 1] end
           end
         end
         for _, value in ipairs(redis.call('HGETALL', KEYS[1] .. 'outcomes')) do found[#found + 1] = value end
         return table.concat(found, '\\n')",
    );
    dump.arg(1).arg(key);
    admin.command(&dump).await.expect("how jobs ended")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_are_found_nowhere() {
    let _place = machine::place().await;
    let redis = TestRedis::start().await;
    let (admin, folder) = (redis.store().await, redis.folder());
    let mut user = redis::cmd("ACL");
    user.arg("SETUSER").arg("guest").arg("on").arg(">canary-of-redis").arg("~*").arg("+@all");
    admin.command::<()>(&user).await.expect("a user");

    let willing = Upstream::willing().await;
    let failing = upstream_that(upstream::Answer::Status(500)).await;
    let refusing = upstream_that(upstream::Answer::Status(404)).await;
    let cutting = upstream_that(upstream::Answer::Nothing).await;
    secret(folder, "redis.url", &format!("{}?user=guest&pass=canary-of-redis", redis.server.url()));
    secret(folder, "headers", "X-Api-Key: canary-of-the-upstream");
    secret(folder, "signing_secret", SIGNING_SECRET);
    let settings = [
        ("{folder}", folder.display().to_string()),
        ("{hash}", ITS_HASH.to_owned()),
        ("{secrets}", IN_SETTINGS.replace("{secret}", SIGNING_SECRET)),
        ("{willing}", willing.url()),
        ("{failing}", failing.url()),
        ("{refusing}", refusing.url()),
        ("{cutting}", cutting.url()),
        ("{tls}", willing.url().replace("http:", "https:")),
    ];
    let settings = settings.iter().fold(SETTINGS.to_owned(), |text, (name, value)| text.replace(name, value));
    let settings = secret(folder, "dripfeed.toml", &settings);
    let dripfeed = |arguments: &[&str]| {
        let mut command = command(["-c".as_ref(), settings.as_os_str()]);
        command.args(arguments);
        command
    };

    let mut processes = Vec::new();
    for (role, format) in [("intake", "human"), ("intake", "json"), ("processor", "human"), ("processor", "json")] {
        let format = format!("log.format={format}");
        processes.push(Process::start(role, dripfeed(&[role, "--set", &format])).await);
    }
    let clients: Vec<Client> = processes.iter().map(Process::client).collect();
    for intake in &clients[..2] {
        for bucket in WELL.iter().chain(&DEADLY) {
            for _ in 0..4 {
                hand_in(intake, bucket).await;
            }
        }
        is_refused(intake).await;
    }
    // Entries that others changed or added.
    for fields in [["body", "canary", "v", "1"], ["body", "canary", "headers", "canary"]] {
        let mut add = redis::cmd("XADD");
        add.arg("dripfeed:{willing}:jobs").arg("*").arg(&fields);
        admin.command::<String>(&add).await.expect("an id");
    }
    until("all jobs have ended", async || {
        let buckets = read(&clients[0], "/v1/buckets").await;
        let buckets = buckets["items"].as_array().expect("all buckets").clone();
        buckets.iter().all(|bucket| bucket["level"] == 0)
    })
    .await;

    // So that what follows is looked for at the right place: it did reach who was meant.
    let call = willing.calls().into_iter().find(|call| call.headers.contains_key("x-api-key")).expect("a call");
    assert!(call.text().contains("canary-in-the-body") && call.headers["x-token"] == "canary-in-a-header");
    assert!(call.headers.contains_key("webhook-signature") && call.uri.to_string().contains("canary-in-the-path"));

    for bucket in WELL.iter().chain(&DEADLY) {
        let dead = read(&clients[0], &format!("/v1/buckets/{bucket}/dead")).await;
        let many = dead["items"].as_array().map_or(0, Vec::len);
        let corrupt = if *bucket == "willing" { 2 } else { 0 };
        assert_eq!(many, if DEADLY.contains(bucket) { 8 } else { corrupt }, "{bucket}: {dead}");
        assert!(many == 0 || dead.to_string().contains(CANARY), "a dead letter has its job");
        no_canary(&format!("the dead letters of {bucket}"), &without_jobs(dead).to_string());
        for what in ["", "/jobs", "/outcomes", "/report"] {
            let path = format!("/v1/buckets/{bucket}{what}");
            no_canary(&path, &read(&clients[0], &path).await.to_string());
        }
        no_canary(&format!("Redis, {bucket}"), &in_redis(&admin, &format!("dripfeed:{{{bucket}}}:")).await);
    }
    for client in &clients {
        let metrics = as_caller(client, Method::GET, "/metrics", "").await;
        assert_eq!(metrics.status, 200, "{metrics:?}");
        no_canary("the metrics", &String::from_utf8_lossy(&metrics.body));
    }
    for arguments in [
        ["config"].as_slice(),
        &["config", "-o", "json"],
        &["check", "--connect"],
        &["doctor"],
        &["check", "--set", "redis.url=redis://guest:canary@127.0.0.1:bad"],
        &["check", "--set", "buckets.willing.signing_secret=whsec_canary"],
        &["check", "--connect", "--set", "redis.url_file=", "--set", "redis.url=redis://guest:canary@127.0.0.1:1"],
    ] {
        let ended = dripfeed(arguments).output().await.expect("the executable");
        let told = format!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert!(!told.is_empty(), "{arguments:?}");
        no_canary(&format!("{arguments:?}"), &told);
    }
    let mut traced = 0;
    for process in &mut processes {
        process.terminate();
        assert!(process.ended().await.success());
        let log = process.log();
        no_canary("a log", &log);
        traced += usize::from(log.contains("TRACE"));
    }
    assert!(traced >= 2, "the processors' logs are at level trace");
}
