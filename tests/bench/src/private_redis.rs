//! A private Redis on the measured core, and its statistics.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use dripfeed_store::{AppendFsync, PrivateServer, ServerOptions};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, FromRedisValue};
use tempfile::TempDir;

use crate::machine;

/// Timeout of this program's commands; removing a million jobs is slow.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Redis {
    server: PrivateServer,
    connection: MultiplexedConnection,
    folder: TempDir,
}

/// The work of Redis since its statistics were reset.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    /// Time in commands and scripts of clients.
    pub(crate) commands: Duration,
    /// CPU time of the whole process.
    pub(crate) cpu: Duration,
}

impl Redis {
    /// `append`: `None` if nothing is written to disk.
    pub(crate) async fn start(append: Option<AppendFsync>) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("the path of this program")?;
        // Beside the executables, because /tmp may be in memory, where fsync costs nothing.
        let folder = tempfile::tempdir_in(program.parent().context("the folder of this program")?)?;
        let mut options = ServerOptions { append_only: append.is_some(), ..ServerOptions::default() };
        options.append_fsync = append.unwrap_or(AppendFsync::No);
        // The percentile 100 is the longest call.
        options.arguments = ["--latency-tracking-info-percentiles", "50 99 100"].map(str::to_owned).to_vec();
        let server = machine::waiting_on_the_measured_core(PrivateServer::start(folder.path(), options)).await??;
        let client = redis::Client::open(server.url())?;
        let patient = AsyncConnectionConfig::new().set_response_timeout(Some(PATIENCE));
        let connection = client.get_multiplexed_async_connection_with_config(&patient).await?;
        Ok(Self { server, connection, folder })
    }

    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// A folder for files, removed with this Redis.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn connection(&self) -> MultiplexedConnection {
        self.connection.clone()
    }

    pub(crate) async fn ask<T: FromRedisValue>(&self, words: &[&str]) -> anyhow::Result<T> {
        let mut command = redis::Cmd::new();
        words.iter().for_each(|word| _ = command.arg(word));
        command.query_async(&mut self.connection()).await.with_context(|| words.join(" "))
    }

    /// Removes everything, and waits until it is gone.
    pub(crate) async fn empty(&self) -> anyhow::Result<()> {
        self.ask(&["FLUSHALL", "SYNC"]).await
    }

    /// Resets the statistics. Returns the CPU time so far.
    pub(crate) async fn begin(&self) -> anyhow::Result<Duration> {
        self.ask::<()>(&["CONFIG", "RESETSTAT"]).await?;
        self.cpu().await
    }

    /// The work since `begin`, which returned `begun`. `sent` are the commands that clients send; the time of commands
    /// in scripts isn't added, because that of the script includes it.
    pub(crate) async fn work(&self, begun: Duration, sent: &[&str]) -> anyhow::Result<Work> {
        let cpu = self.cpu().await?.saturating_sub(begun);
        let counts: String = self.ask(&["INFO", "commandstats"]).await?;
        let of = |name: &&str| field(&counts, &format!("cmdstat_{name}:"), "usec=").unwrap_or(0.0);
        let commands = Duration::from_secs_f64(sent.iter().map(of).sum::<f64>() / 1e6);
        Ok(Work { commands, cpu })
    }

    /// The longest script since `begin`, in µs.
    pub(crate) async fn longest_script(&self) -> anyhow::Result<f64> {
        let latencies: String = self.ask(&["INFO", "latencystats"]).await?;
        Ok(field(&latencies, "latency_percentiles_usec_evalsha:", "p100=").unwrap_or(f64::NAN))
    }

    /// Memory in bytes, without the texts of scripts, which aren't memory of jobs.
    pub(crate) async fn memory(&self) -> anyhow::Result<f64> {
        let memory: String = self.ask(&["INFO", "memory"]).await?;
        let used = field(&memory, "used_memory:", "").context("Redis doesn't say how much memory it uses")?;
        Ok(used - field(&memory, "used_memory_scripts_eval:", "").unwrap_or(0.0))
    }

    pub(crate) async fn version(&self) -> anyhow::Result<String> {
        let server: String = self.ask(&["INFO", "server"]).await?;
        let line = server.lines().find_map(|line| line.strip_prefix("redis_version:"));
        Ok(line.unwrap_or("unknown").to_owned())
    }

    async fn cpu(&self) -> anyhow::Result<Duration> {
        let cpu: String = self.ask(&["INFO", "cpu"]).await?;
        let parts = ["used_cpu_user:", "used_cpu_sys:"].map(|name| field(&cpu, name, ""));
        Ok(Duration::from_secs_f64(parts.into_iter().flatten().sum()))
    }
}

/// The number after `name` on the line that begins with `line`.
fn field(text: &str, line: &str, name: &str) -> Option<f64> {
    let fields = text.lines().find_map(|found| found.strip_prefix(line))?;
    fields.split(',').find_map(|field| field.strip_prefix(name))?.trim().parse().ok()
}
