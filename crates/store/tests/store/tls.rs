use std::{fs, path::Path};

use dripfeed_store::{ErrorKind, Store};
use rcgen::CertifiedKey;

use crate::bench::{Bench, arguments, free_port, settings};

#[tokio::test]
async fn an_authority_of_ones_own_is_trusted_when_named_and_not_otherwise() {
    let certificates = tempfile::tempdir().unwrap();
    let certificate = write_certificate(certificates.path());
    let key = certificates.path().join("key.pem");
    let port = free_port();
    let bench = Bench::with(arguments(&format!(
        "--tls-port {port} --tls-auth-clients no --tls-cert-file {certificate} --tls-key-file {} \
         --tls-ca-cert-file {certificate}",
        key.display()
    )))
    .await;

    let mut settings = settings(&bench.server);
    settings.url = format!("rediss://127.0.0.1:{port}?ca={certificate}").parse().unwrap();
    Store::connect(&settings).await.unwrap();

    settings.url = format!("rediss://127.0.0.1:{port}").parse().unwrap();
    let error = Store::connect(&settings).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
}

/// Writes `key.pem` and a self-signed certificate into `dir`, and tells the path of the latter.
fn write_certificate(dir: &Path) -> String {
    let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let path = dir.join("certificate.pem");
    fs::write(&path, cert.pem()).unwrap();
    fs::write(dir.join("key.pem"), signing_key.serialize_pem()).unwrap();
    path.display().to_string()
}
