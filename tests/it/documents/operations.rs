use std::fs;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use dripfeed_store::Durability;
use dripfeed_tests::processes::executable;
use dripfeed_tests::redis_server::{RunningRedis, free_port};
use dripfeed_tests::service::{PATIENCE, Service, until};
use dripfeed_tests::sources::from_the_root;
use dripfeed_tests::upstream::Upstream;
use http::Method;
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// A Redis that is stopped and started over another folder. At a port, as in the guide.
struct OperatedRedis {
    port: u16,
    folder: TempDir,
}

impl RunningRedis for OperatedRedis {
    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl OperatedRedis {
    async fn start(&self, data: &str) -> Child {
        let data = self.folder.path().join(data);
        fs::create_dir_all(&data).unwrap();
        let mut redis = Command::new("redis-server");
        redis.args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes"]);
        let redis =
            redis.arg("--dir").arg(data).stdout(Stdio::null()).kill_on_drop(true).spawn().expect("redis-server");
        let pings = async || self.sh(&format!("redis-cli -p {} ping | grep -q PONG", self.port)).await.success();
        until("Redis answers", pings).await;
        redis
    }

    async fn stop(&self, mut redis: Child) {
        assert!(self.sh(&format!("redis-cli -p {} shutdown", self.port)).await.success());
        redis.wait().await.unwrap();
    }

    /// The commands of a section of the guide, one after the other.
    async fn types(&self, section: &str) -> ExitStatus {
        let guide = fs::read_to_string(from_the_root("config/README.md")).unwrap();
        let (_, from) = guide.split_once(&format!("\n### {section}\n")).expect("the section");
        let section = from.split("\n## ").next().unwrap().split("\n### ").next().unwrap();
        let commands: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("    $ ")).collect();
        assert!(!commands.is_empty());
        let script = commands.join("\n").replace("6379", &self.port.to_string());
        self.sh(&script).await
    }

    /// What the commands have started ends with them, also when they fail, or don't end.
    async fn sh(&self, commands: &str) -> ExitStatus {
        let path = std::env::var("PATH").unwrap_or_default();
        let script = format!("trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{commands}");
        let mut bash = Command::new("timeout");
        bash.arg(PATIENCE.as_secs().to_string()).args(["bash", "-euo", "pipefail", "-c", &script]);
        bash.env("PATH", format!("{}:{path}", executable().parent().expect("a folder").display()));
        bash.current_dir(self.folder.path()).status().await.expect("bash")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_backup_has_the_jobs_of_its_time_and_their_keys() {
    let upstream = Upstream::willing().await;
    let redis = OperatedRedis { port: free_port(), folder: tempfile::tempdir().unwrap() };
    let server = redis.start("data").await;
    let bucket = format!("[buckets.mail]\nupstream = \"{}\"\n", upstream.url());
    let service = Service::over(redis, Durability::Everysec, &bucket).await;
    let redis = &service.redis;
    let mut intake = service.intake().await;
    let submit = async |client: &dripfeed_tests::client::Client, key: &'static str| {
        let job = client.request(Method::POST, "/v1/buckets/mail/jobs").header("idempotency-key", key);
        client.call(job, key).await.unwrap().text("id")
    };
    let first = submit(&intake.client(), "before 1").await;
    submit(&intake.client(), "before 2").await;

    assert!(redis.types("Back up").await.success());
    submit(&intake.client(), "after").await;
    intake.terminate();
    intake.ended().await;
    redis.stop(server).await;

    assert!(redis.types("Restore").await.success());
    let _server = redis.start("restored").await;
    let (doctor, findings) = service.run(&["doctor"]).await;
    assert_eq!(doctor, Some(0), "{findings}");
    let intake = service.intake().await;
    assert_eq!(submit(&intake.client(), "before 1").await, first);
    let _processor = service.processor().await;
    service.drained("mail").await;
    let mut delivered: Vec<String> = upstream.calls().iter().map(|call| call.text().to_owned()).collect();
    delivered.sort();
    assert_eq!(delivered, ["before 1", "before 2"]);
}
