//! An installation whose processes are of two versions, over one Redis and with one file of settings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use dripfeed_tests::processes::{self, Process};
use dripfeed_tests::redis_server::RunningRedis;
use dripfeed_tests::service::{PATIENCE, Service};
use dripfeed_tests::sources::from_the_root;
use tokio::process::Command;

const PASSWORD: &str = "opensesame";

/// Of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// That of `tests/it/upgrade/base`.
    Base,
    /// That of these sources.
    This,
}

pub struct Installation {
    pub service: Service,
}

impl Installation {
    /// With buckets as the base reads them, and the user of Redis that the base needs.
    pub async fn new(buckets: &str) -> Self {
        let installation = Self { service: Service::new(buckets).await };
        let rules = fs::read_to_string(sources().join("config/deploy/redis-acl.conf")).expect("the file of the base");
        let rules = rules.lines().find_map(|line| line.strip_prefix("user dripfeed ")).expect("our user").to_owned();
        installation.service.redis::<()>(&format!("ACL SETUSER dripfeed {rules} >{PASSWORD}")).await;
        installation
    }

    pub async fn intake(&self, version: Version) -> Process {
        self.start(version, "intake").await
    }

    pub async fn processor(&self, version: Version) -> Process {
        self.start(version, "processor").await
    }

    async fn start(&self, version: Version, role: &str) -> Process {
        let mut command = self.command(version);
        command.arg(role).env("DRIPFEED__REDIS__URL", self.url());
        Process::start(&format!("{role} of {version:?}"), command).await
    }

    /// With the settings of this installation.
    fn command(&self, version: Version) -> Command {
        let mut command = executable(version);
        command.arg("-c").arg(self.settings());
        command
    }

    fn settings(&self) -> PathBuf {
        self.service.redis.folder().join("dripfeed.toml")
    }

    fn url(&self) -> String {
        format!("{}?user=dripfeed&pass={PASSWORD}", self.service.redis.url())
    }

    /// The commands of a section of the guide, for a bucket, as an operator types them beside the file of Redis' users.
    /// `server`: the URL of an intake that runs.
    pub async fn types(&self, section: &str, bucket: &str, server: &str) {
        let guide = fs::read_to_string(from_the_root("config/README.md")).expect("the guide");
        let (_, from) = guide.split_once(&format!("\n### {section}\n")).expect("the section");
        let section = from.split("\n## ").next().and_then(|part| part.split("\n### ").next()).expect("its text");
        let commands: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("    $ ")).collect();
        assert!(!commands.is_empty(), "{section}");
        let socket = self.service.redis.url().replace("unix://", "");
        let here = format!(
            "redis-cli() {{ command redis-cli -s {socket} \"$@\"; }}\ndripfeed() {{ '{}' \"$@\"; }}\n",
            processes::executable().display()
        );
        let settings = self.settings().display().to_string();
        let script = here + &commands.join("\n").replace("BUCKET", bucket).replace("dripfeed.toml", &settings);
        let mut bash = Command::new("timeout");
        bash.arg(PATIENCE.as_secs().to_string()).args(["bash", "-euo", "pipefail", "-c", &script]);
        bash.current_dir(from_the_root("config/deploy")).env("DRIPFEED_SERVER", server);
        let ended = bash.output().await.expect("bash");
        assert!(ended.status.success(), "{script}\n{ended:?}");
    }

    /// Counts what the base didn't, as the guide says, and finds nothing wrong then.
    pub async fn examine(&self, bucket: &str) {
        self.types("After an upgrade", bucket, "").await;
        let ended = self.command(Version::This).arg("doctor").output().await.expect("the executable");
        assert!(ended.status.success(), "{ended:?}");
    }
}

/// The executable of a version with nothing of this test's environment but the path.
pub fn executable(version: Version) -> Command {
    if version == Version::This {
        return processes::command::<&str>([]);
    }
    let mut base = Command::new(made("UPGRADE_BASE"));
    base.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    base.stdin(Stdio::null()).kill_on_drop(true);
    base
}

/// The sources of the base.
pub fn sources() -> PathBuf {
    made("UPGRADE_SOURCES")
}

/// What `make upgrade` has made.
fn made(name: &str) -> PathBuf {
    let path = std::env::var_os(name).unwrap_or_else(|| panic!("{name} isn't set: run `make upgrade`"));
    assert!(Path::new(&path).exists(), "{} is missing: run `make upgrade`", path.display());
    path.into()
}
