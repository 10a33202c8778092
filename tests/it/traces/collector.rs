//! A collector of OpenTelemetry as others run it (Rotel, of PyPI), before a receiver: it reads what it is sent, and
//! writes it again.

use std::process::Stdio;

use dripfeed_tests::redis_server::free_port;
use dripfeed_tests::service::until;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

pub struct Collector {
    url: String,
    _process: Child,
    _folder: TempDir,
}

impl Collector {
    /// Sends on what it gets to the address `to`.
    pub async fn start(to: &str) -> Self {
        let executable = std::env::var_os("OTLP_COLLECTOR").expect("OTLP_COLLECTOR isn't set: run `make trace-test`");
        let [http, grpc] = [free_port(), free_port()].map(|port| format!("127.0.0.1:{port}"));
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(executable);
        command.args(["start", "--otlp-http-endpoint", &http, "--otlp-grpc-endpoint", &grpc, "--exporter", "otlp"]);
        command.args(["--otlp-exporter-protocol", "http", "--otlp-exporter-endpoint", to]);
        command.arg("--pid-file").arg(folder.path().join("pid")).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let process = command.spawn().expect("the collector can be started");
        until("the collector listens", async || TcpStream::connect(&http).await.is_ok()).await;
        Self { url: format!("http://{http}"), _process: process, _folder: folder }
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}
