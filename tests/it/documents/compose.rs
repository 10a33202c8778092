use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use dripfeed_job::duration;
use dripfeed_store::{Durability, RedisSettings, Store};
use dripfeed_tests::machine;
use dripfeed_tests::processes::{Process, command};
use dripfeed_tests::service::PATIENCE;
use dripfeed_tests::upstream::Upstream;
use http::Method;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::process::{Child, Command};

const KEY: &str = "the key that callers have";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the project's folder")
}

fn words(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list of words").iter().map(|word| word.as_str().expect("a word")).collect()
}

/// What is other here than in a container, and what it is here.
struct Places(Vec<(&'static str, String)>);

impl Places {
    fn here(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (there, here)| text.replace(there, here))
    }

    /// A service's command in its environment.
    fn command(&self, service: &Value) -> Command {
        let mut command = command(words(&service["command"]).into_iter().map(|word| self.here(word)));
        for (name, value) in service["environment"].as_object().expect("a map") {
            command.env(name, self.here(value.as_str().expect("a word")));
        }
        command
    }
}

async fn redis(service: &Value, folder: &Path) -> (Child, String) {
    let words = words(&service["command"]);
    let socket = folder.join("redis.sock");
    let mut redis = Command::new(words[0]);
    redis.args(&words[1..]).args(["--port", "0", "--unixsocket"]).arg(&socket).arg("--dir").arg(folder);
    let redis = redis.stdout(Stdio::null()).kill_on_drop(true).spawn().expect("redis-server");
    let url = format!("unix://{}", socket.display());
    let settings = RedisSettings::new(url.parse().expect("an address"), "dripfeed", Durability::Everysec);
    let begun = Instant::now();
    while Store::connect(&settings).await.is_err() {
        assert!(begun.elapsed() < PATIENCE, "the Redis of the compose file doesn't answer");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (redis, url)
}

#[test]
fn a_container_has_time_to_drain_before_it_is_killed() {
    let text = fs::read_to_string(root().join("docker-compose.yml")).unwrap();
    let compose: Value = serde_saphyr::from_str(&text).unwrap();
    for (role, parts) in [("intake", &["DRAIN_DELAY", "DRAIN"][..]), ("processor", &["DRAIN"])] {
        let service = &compose["services"][role];
        let time = |value: &Value| duration::parse(value.as_str().unwrap()).unwrap();
        let part = |part: &&str| time(&service["environment"][format!("DRIPFEED__{}__{part}", role.to_uppercase())]);
        let drains: Duration = parts.iter().map(part).sum();
        assert!(drains < time(&service["stop_grace_period"]), "{role}");
    }
}

/// Docker makes an empty folder of one that doesn't.
#[test]
fn mounted_files_of_containers_exist() {
    let text = fs::read_to_string(root().join("docker-compose.yml")).unwrap();
    let compose: Value = serde_saphyr::from_str(&text).unwrap();
    let services = compose["services"].as_object().expect("a map").values();
    let volumes = services.filter_map(|service| service.get("volumes")).flat_map(words);
    let mounted: Vec<&str> = volumes.filter(|volume| volume.starts_with("./")).collect();
    assert!(!mounted.is_empty());
    for volume in mounted {
        let (path, _) = volume.split_once(':').expect("a path in the container");
        assert!(root().join(path).exists(), "{volume}");
    }
}

/// The name in a URL of a container.
fn host(url: &str) -> &str {
    url.split_once("://").and_then(|(_, rest)| rest.split([':', '/']).next()).expect("a URL")
}

#[test]
fn services_of_the_compose_file_refer_to_existing_names() {
    let text = fs::read_to_string(root().join("docker-compose.yml")).unwrap();
    let compose: Value = serde_saphyr::from_str(&text).unwrap();
    let services = compose["services"].as_object().expect("a map");
    let sources = root().join("config/grafana/provisioning/datasources/sources.yml");
    let sources: Value = serde_saphyr::from_str(&fs::read_to_string(sources).unwrap()).unwrap();
    let sources = sources["datasources"].as_array().expect("a list");
    let endpoint = text.split_once("TRACE_ENDPOINT=").and_then(|(_, rest)| rest.split(' ').next()).expect("a comment");
    let mut urls: Vec<&str> = sources.iter().map(|source| source["url"].as_str().expect("a URL")).collect();
    urls.push(endpoint);
    for url in urls {
        let service = services.get(host(url)).unwrap_or_else(|| panic!("{url}"));
        assert_eq!(words(&service["profiles"]), ["observability"], "{url}");
    }
    let ids: Vec<&Value> = sources.iter().map(|source| &source["uid"]).collect();
    let linked = &sources[0]["jsonData"]["exemplarTraceIdDestinations"][0]["datasourceUid"];
    assert!(ids.contains(&linked), "{linked}");
    for role in ["intake", "processor"] {
        let endpoint = &services[role]["environment"]["DRIPFEED__TRACE__ENDPOINT"];
        assert_eq!(endpoint.as_str(), Some("${TRACE_ENDPOINT:-}"), "{role}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_of_the_compose_file_work_together() {
    let _place = machine::place().await;
    let text = fs::read_to_string(root().join("docker-compose.yml")).unwrap();
    let compose: Value = serde_saphyr::from_str(&text).unwrap();
    let services = &compose["services"];
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("caller-key.sha256");
    fs::write(&secret, Sha256::digest(KEY).iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n")
        .unwrap();

    let (_redis, url) = redis(&services["redis"], folder.path()).await;
    let upstream = Upstream::willing().await;
    let places = Places(vec![
        ("/run/secrets/caller_key_hash", secret.display().to_string()),
        ("/etc/dripfeed", folder.path().display().to_string()),
        ("http://host.docker.internal:9000/feed", upstream.url()),
        ("redis://redis:6379", url),
        // Nobody watches, as without the profile.
        ("${TRACE_ENDPOINT:-}", String::new()),
        // Servers under test listen on loopback only.
        ("0.0.0.0:7180", "127.0.0.1:0".to_owned()),
        ("0.0.0.0:7181", "127.0.0.1:0".to_owned()),
        ("0.0.0.0:7182", "127.0.0.1:0".to_owned()),
    ]);
    let settings = fs::read_to_string(root().join("config/deploy/containers.toml")).unwrap();
    fs::write(folder.path().join("containers.toml"), places.here(&settings)).unwrap();

    let intake = Process::start("intake", places.command(&services["intake"])).await;
    let processors = [
        Process::start("processor 1", places.command(&services["processor"])).await,
        Process::start("processor 2", places.command(&services["processor"])).await,
        Process::start("processor 3", places.command(&services["processor"])).await,
    ];
    let client = intake.client();
    let post = || client.request(Method::POST, "/v1/buckets/tigerfeeding/jobs");
    assert_eq!(client.call(post(), "meat").await.unwrap().status, 401);
    let answer = client.call(post().header("dripfeed-key", KEY), "meat").await.unwrap();
    assert_eq!((answer.status, answer.text("durability").as_str()), (202, "everysec"), "{answer:?}");
    upstream.has_got(1).await;
    assert_eq!(upstream.calls()[0].text(), "meat");

    let of_all = client.request(Method::GET, "/metrics");
    assert_eq!(client.call(of_all, "").await.unwrap().status, 401, "the port of the API takes a key");

    for (service, process) in [("intake", &intake)].into_iter().chain(processors.iter().map(|one| ("processor", one))) {
        let check = words(&services[service]["healthcheck"]["test"]);
        let ["CMD", "dripfeed", "ready", _] = check[..] else { panic!("{check:?}: the image has no shell") };
        let code = async || command(["ready", &process.url()]).status().await.unwrap().code();
        assert_eq!(code().await, Some(0), "the health check of the compose file");
    }
    let address = intake.url();
    drop(intake);
    assert_eq!(command(["ready", &address]).status().await.unwrap().code(), Some(1), "the intake is gone");
}
