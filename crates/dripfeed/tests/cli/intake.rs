use dripfeed_store::PrivateServer;
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::program::{PATIENT, Running, dripfeed, redis, write};

/// An intake without a processor: what is submitted stays.
pub(crate) struct Intake {
    running: Running,
    pub(crate) server: String,
    pub(crate) folder: TempDir,
    redis: PrivateServer,
}

pub(crate) const BUCKET: &str = r#"
    [buckets.mail]
    upstream = "http://127.0.0.1:1/"
    capacity = 3
"#;

impl Intake {
    pub(crate) async fn start(settings: &str) -> Self {
        let (folder, redis) = redis(&[]).await;
        let file = write(folder.path(), "dripfeed.toml", settings);
        let running = start(&file, &redis, "127.0.0.1:0");
        let server = running.address();
        Self { running, server, folder, redis }
    }

    /// For `--set`.
    pub(crate) fn redis_url(&self) -> String {
        format!("redis.url={}", self.redis.url())
    }

    /// Beside it, with the same settings.
    pub(crate) fn processor(&self) -> Running {
        let file = self.folder.path().join("dripfeed.toml").display().to_string();
        let listen = "processor.listen=127.0.0.1:0";
        let url = self.redis_url();
        let arguments = ["processor", "-c", &file, "--set", &url, "--set", listen];
        Running::start(&mut dripfeed(&[arguments.as_slice(), &PATIENT].concat()))
    }

    /// With other settings from now on.
    pub(crate) fn reload(&self, settings: &str) {
        write(self.folder.path(), "dripfeed.toml", settings);
        self.running.signal(Signal::SIGHUP);
        self.running.says("settings reloaded");
    }

    /// Its Redis is gone, and it still runs.
    pub(crate) async fn without_redis(self) -> Running {
        self.redis.stop().await.unwrap();
        self.running
    }

    pub(crate) async fn end(self) {
        assert_eq!(self.running.end(), Some(0));
        self.redis.stop().await.unwrap();
    }
}

fn start(file: &str, redis: &PrivateServer, address: &str) -> Running {
    let (url, listen) = (format!("redis.url={}", redis.url()), format!("intake.listen={address}"));
    let arguments = ["intake", "-c", file, "--set", &url, "--set", &listen];
    Running::start(&mut dripfeed(&[arguments.as_slice(), &PATIENT].concat()))
}

/// One that ended, and may be started again at its address.
pub(crate) struct EndedIntake {
    server: String,
    folder: TempDir,
    redis: PrivateServer,
}

impl EndedIntake {
    pub(crate) fn of(Intake { running, server, folder, redis }: Intake) -> Self {
        assert_eq!(running.end(), Some(0));
        Self { server, folder, redis }
    }

    pub(crate) fn start(self) -> Intake {
        let Self { server, folder, redis } = self;
        let file = folder.path().join("dripfeed.toml").display().to_string();
        let running = start(&file, &redis, server.trim_start_matches("http://"));
        assert_eq!(running.address(), server);
        Intake { running, server, folder, redis }
    }
}
