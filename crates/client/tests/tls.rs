//! Servers whose certificate isn't trusted, or that have none.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dripfeed_client::{Client, ClientError, NewJob, Retries};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::crypto::ring;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const PATIENCE: Duration = Duration::from_secs(60);

/// The port and certificate of a server for `localhost`, and how often it was connected to.
async fn server() -> (u16, String, Arc<AtomicU32>) {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let key = signing_key.serialize_der().try_into().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config.with_single_cert(vec![cert.der().clone()], key).unwrap()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, connections) = (listener.local_addr().unwrap().port(), Arc::new(AtomicU32::new(0)));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            if let Ok(mut stream) = acceptor.accept(stream).await {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await;
            }
        }
    });
    (port, cert.pem(), connections)
}

async fn refused(url: String, certificates: Option<&str>) -> ClientError {
    let client = Client::builder(url).retries(Retries::within(PATIENCE));
    let client = match certificates {
        Some(pem) => client.certificates(pem),
        None => client,
    };
    client.build().unwrap().push(&"b".parse().unwrap(), &NewJob::new("x")).await.unwrap_err()
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_reported_at_once_with_what_to_do() {
    let (port, pem, connections) = server().await;
    let trusting = Client::builder(format!("https://localhost:{port}")).certificates(pem.as_str()).build().unwrap();
    trusting.get("/v1/buckets").await.unwrap();
    for (name, certificates, says) in
        [("localhost", None, "doesn't trust"), ("127.0.0.1", Some(pem.as_str()), "another host name")]
    {
        let before = connections.load(Ordering::Relaxed);
        let error = refused(format!("https://{name}:{port}"), certificates).await;
        assert!(matches!(error, ClientError::Tls { .. }) && error.to_string().contains(says), "{error:?}");
        assert!(!error.is_retryable() && error.was_not_executed(), "{error:?}");
        assert_eq!(connections.load(Ordering::Relaxed), before + 1);
    }
}

#[tokio::test]
async fn a_server_without_tls_is_reported_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let refused = refused(url, None);
    let answer = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
    };
    let (error, ()) = tokio::join!(refused, answer);
    assert!(matches!(error, ClientError::Tls { .. }) && error.to_string().contains("http://"), "{error:?}");
}
