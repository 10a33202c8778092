use std::sync::Arc;
use std::time::Duration;

use dripfeed_http::{Tls, TlsIdentity};
use dripfeed_intake::IntakeSettings;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::harness::{Harness, PATIENCE, intake_settings};
use crate::server::{Server, head};

/// A self-signed certificate for `localhost`.
fn certified() -> (CertificateDer<'static>, TlsIdentity) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let identity = TlsIdentity::from_pem(&made.cert.pem(), &made.signing_key.serialize_pem()).unwrap();
    (made.cert.der().clone(), identity)
}

/// A client that trusts only this certificate.
async fn connect(server: &Server, trusted: &CertificateDer<'static>) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, server.connect().await.tcp).await
}

async fn ask(stream: &mut TlsStream<TcpStream>, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    read.expect("the connection is closed").unwrap();
    String::from_utf8(answer).unwrap()
}

fn last(body: &str) -> String {
    head(&format!("Connection: close\r\nContent-Length: {}\r\n", body.len())) + body
}

#[tokio::test]
async fn a_tls_port_serves_tls_only() {
    let harness = Harness::start().await;
    let (certificate, identity) = certified();
    let server = Server::start_with(&harness, intake_settings(), Some(Tls::new(identity))).await;
    let mut stream = connect(&server, &certificate).await.unwrap();
    let large = "x".repeat(50_000);
    let answer = ask(&mut stream, &last(&large)).await;
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");

    let mut clear = server.connect().await;
    clear.send(last("x")).await;
    assert!(!clear.rest().await.contains("HTTP"), "answered in clear text");
    let (other, _) = certified();
    assert!(connect(&server, &other).await.is_err(), "shown without being trusted");
    assert_eq!(harness.length("b").await, 1);
}

#[tokio::test]
async fn a_new_certificate_applies_to_new_connections() {
    let harness = Harness::start().await;
    let ((first, identity), (second, successor)) = (certified(), certified());
    let tls = Tls::new(identity);
    let server = Server::start_with(&harness, intake_settings(), Some(tls.clone())).await;
    let mut before = connect(&server, &first).await.unwrap();
    tls.replace(successor);
    let mut after = connect(&server, &second).await.unwrap();
    assert!(connect(&server, &first).await.is_err());
    for stream in [&mut before, &mut after] {
        assert!(ask(stream, &last("x")).await.starts_with("HTTP/1.1 202 "));
    }
}

#[tokio::test]
async fn framing_is_checked_within_tls() {
    let harness = Harness::start().await;
    let (certificate, identity) = certified();
    let server = Server::start_with(&harness, intake_settings(), Some(Tls::new(identity))).await;
    let mut stream = connect(&server, &certificate).await.unwrap();
    let hidden = head("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n" + &last("x");
    let answers = ask(&mut stream, &hidden).await;
    assert!(answers.starts_with("HTTP/1.1 400 ") && answers.matches("HTTP/1.1").count() == 1, "{answers}");
    assert_eq!(harness.length("b").await, 0);
}

#[tokio::test]
async fn a_client_without_a_handshake_is_disconnected() {
    let harness = Harness::start().await;
    let (_, identity) = certified();
    let short = IntakeSettings { head_timeout: Duration::from_millis(200), ..intake_settings() };
    let server = Server::start_with(&harness, short, Some(Tls::new(identity.clone()))).await;
    assert_eq!(server.connect().await.rest().await, "");
    // And a stop waits for none.
    let server = Server::start_with(&harness, intake_settings(), Some(Tls::new(identity))).await;
    let mut silent = server.connect().await;
    server.stop.cancel();
    assert_eq!(silent.rest().await, "");
    server.ended().await;
}

#[test]
fn an_identity_is_a_certificate_and_its_key() {
    let made = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (one, other) = (made(), made());
    let (certificate, key) = (one.cert.pem(), one.signing_key.serialize_pem());
    let told = |certificate: &str, key: &str| TlsIdentity::from_pem(certificate, key).unwrap_err().to_string();
    assert!(TlsIdentity::from_pem(&(certificate.clone() + &other.cert.pem()), &key).is_ok(), "a chain");
    assert!(told("", &key).contains("no certificate"));
    assert!(told(&key, &key).contains("no certificate"));
    assert!(told(&certificate, "").contains("no private key"));
    assert!(told(&certificate, &certificate).contains("no private key"));
    assert!(told(&certificate, &other.signing_key.serialize_pem()).contains("doesn't match the certificate"));
    assert!(told(&certificate[..certificate.len() / 2], &key).contains("no certificate"));
}
