use std::fs;

use dripfeed_store::{ErrorKind, RedisSettings, ServerOptions, Store, StoreError};
use dripfeed_tests::redis_server::free_port;
use rcgen::{CertificateParams, DnType, KeyPair};
use redis::cmd;
use tempfile::TempDir;

use crate::bench::{Bench, arguments, settings};
use crate::sentinel::{in_time, sentinel};

/// Certificates that stand for themselves: of the server, and of a client.
struct Papers {
    dir: TempDir,
}

impl Papers {
    /// For a server of this name.
    fn of(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (holder, name) in [("server", name), ("client", "dripfeed")] {
            let mut params = CertificateParams::new([name.to_owned()]).unwrap();
            // By that a server looks for who signed it.
            params.distinguished_name.push(DnType::CommonName, holder);
            let key = KeyPair::generate().unwrap();
            fs::write(dir.path().join(format!("{holder}.pem")), params.self_signed(&key).unwrap().pem()).unwrap();
            fs::write(dir.path().join(format!("{holder}.key")), key.serialize_pem()).unwrap();
        }
        let both = ["server.pem", "client.pem"].map(|name| fs::read_to_string(dir.path().join(name)).unwrap()).concat();
        fs::write(dir.path().join("both.pem"), both).unwrap();
        Self { dir }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// What a server is reported, of its certificate and whom it trusts.
    fn for_the_server(&self) -> Vec<[String; 2]> {
        [("tls-cert-file", "server.pem"), ("tls-key-file", "server.key"), ("tls-ca-cert-file", "both.pem")]
            .map(|(setting, file)| [setting.to_owned(), self.path(file)])
            .into()
    }

    async fn server(&self, port: u16, more: &str) -> Bench {
        let papers: String = self.for_the_server().iter().map(|[name, file]| format!("--{name} {file} ")).collect();
        Bench::with(ServerOptions { ..arguments(&format!("--tls-port {port} {papers} {more}")) }).await
    }

    /// `scheme://127.0.0.1:port` with our papers.
    fn url(&self, scheme: &str, port: u16, rest: &str) -> String {
        let (cert, key) = (self.path("client.pem"), self.path("client.key"));
        format!("{scheme}://127.0.0.1:{port}{rest}?ca={}&cert={cert}&key={key}", self.path("server.pem"))
    }
}

async fn connected(bench: &Bench, url: &str) -> Result<Store, StoreError> {
    Store::connect(&RedisSettings { url: url.parse().unwrap(), ..settings(&bench.server) }).await
}

/// Why it isn't, in all words.
async fn refused(bench: &Bench, url: &str) -> (ErrorKind, String) {
    let error = connected(bench, url).await.err().unwrap();
    let why = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    (error.kind(), format!("{error}: {why}"))
}

async fn serves(store: &Store) {
    store.command::<()>(cmd("SET").arg("key").arg("value")).await.unwrap();
    let value: String = store.command(cmd("GET").arg("key")).await.unwrap();
    assert_eq!(value, "value");
}

#[tokio::test]
async fn an_authority_of_ones_own_is_trusted_when_named_and_not_otherwise() {
    let (papers, port) = (Papers::of("127.0.0.1"), free_port());
    let bench = papers.server(port, "--tls-auth-clients no").await;
    let ca = papers.path("server.pem");
    serves(&connected(&bench, &format!("rediss://127.0.0.1:{port}?ca={ca}")).await.unwrap()).await;

    let others = Papers::of("127.0.0.1");
    let other = format!("rediss://127.0.0.1:{port}?ca={}", others.path("server.pem"));
    for url in [format!("rediss://127.0.0.1:{port}"), other] {
        let (kind, why) = refused(&bench, &url).await;
        assert!(kind == ErrorKind::Untrusted && why.contains("?ca="), "{why}");
    }
    let (_, why) = refused(&bench, &format!("rediss://127.0.0.1:{port}?ca=/nowhere/ca.pem")).await;
    assert!(why.contains("/nowhere/ca.pem"), "{why}");
}

#[tokio::test]
async fn a_certificate_of_another_name_is_refused() {
    let (papers, port) = (Papers::of("elsewhere.example"), free_port());
    let bench = papers.server(port, "--tls-auth-clients no").await;
    let (kind, why) = refused(&bench, &format!("rediss://127.0.0.1:{port}?ca={}", papers.path("server.pem"))).await;
    assert!(kind == ErrorKind::Untrusted && why.contains("elsewhere.example"), "{why}");
}

#[tokio::test]
async fn a_server_without_tls_is_reported_as_such() {
    let port = free_port();
    let bench = Bench::with(arguments(&format!("--port {port}"))).await;
    let (kind, why) = refused(&bench, &format!("rediss://127.0.0.1:{port}")).await;
    assert!(kind == ErrorKind::Unreachable && why.contains("speak TLS?"), "{why}");
}

#[tokio::test]
async fn a_client_certificate_is_presented_when_the_server_asks() {
    let (papers, port) = (Papers::of("127.0.0.1"), free_port());
    let bench = papers.server(port, "--tls-auth-clients yes").await;
    serves(&connected(&bench, &papers.url("rediss", port, "")).await.unwrap()).await;
    let without = format!("rediss://127.0.0.1:{port}?ca={}", papers.path("server.pem"));
    let (others, both) = (Papers::of("127.0.0.1"), papers.path("both.pem"));
    let (cert, key) = (others.path("client.pem"), others.path("client.key"));
    let with_another = format!("rediss://127.0.0.1:{port}?ca={both}&cert={cert}&key={key}");
    for url in [without, with_another] {
        // The alert is lost where the connection is reset before it is read.
        let why = in_time(async {
            loop {
                let (kind, why) = refused(&bench, &url).await;
                if kind != ErrorKind::Unreachable {
                    return (kind, why);
                }
            }
        });
        let (kind, why) = why.await;
        assert!(kind == ErrorKind::CertificateRefused && why.contains("&key="), "{why}");
    }
}

#[tokio::test]
async fn sentinels_are_asked_over_tls_too() {
    let (papers, port, sentinel_port) = (Papers::of("127.0.0.1"), free_port(), free_port());
    let bench = papers.server(port, "--tls-replication yes").await;
    let dir = tempfile::tempdir().unwrap();
    let mut lines = vec![format!("port 0\ntls-port {sentinel_port}\ntls-replication yes")];
    lines.extend(papers.for_the_server().iter().map(|[name, file]| format!("{name} {file}")));
    let _sentinel = sentinel(dir.path(), &lines.join("\n"), port);
    let url = papers.url("rediss+sentinel", sentinel_port, "/drip");
    let store = in_time(async {
        loop {
            if let Ok(store) = connected(&bench, &url).await {
                return store;
            }
        }
    })
    .await;
    serves(&store).await;
}

#[tokio::test]
async fn the_nodes_of_a_cluster_are_reached_over_tls_too() {
    let (papers, port, bus) = (Papers::of("127.0.0.1"), free_port(), free_port());
    let bench = papers.server(port, &format!("--tls-cluster yes --cluster-enabled yes --cluster-port {bus}")).await;
    let mut all = cmd("CLUSTER");
    all.arg("ADDSLOTSRANGE").arg(0).arg(16383);
    bench.store.command::<()>(&all).await.unwrap();
    let store = in_time(async {
        loop {
            let store = connected(&bench, &papers.url("rediss+cluster", port, "")).await.unwrap();
            if store.command::<()>(cmd("SET").arg("key").arg("value")).await.is_ok() {
                return store;
            }
        }
    })
    .await;
    serves(&store).await;
}
