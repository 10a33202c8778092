//! Certificates of upstreams, and who signed them.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::upstream::root_certs::RootCerts;
/// An authority, and what it certifies.
struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// An upstream of these names, until that year; and how many requests it got.
    async fn certified(&self, names: &[&str], until: i32) -> (Server, Arc<AtomicUsize>) {
        let mut params =
            CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let _ = ring::default_provider().install_default();
        let served = ServerConfig::builder().with_no_client_auth();
        let acceptor =
            TlsAcceptor::from(Arc::new(served.with_single_cert(vec![certificate.der().clone()], key).unwrap()));
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        let server = Server::start(move |stream| {
            let (acceptor, counted) = (acceptor.clone(), Arc::clone(&counted));
            async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                if stream.read(&mut [0; 1024]).await.is_ok_and(|bytes| bytes > 0) {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
                }
            }
        })
        .await;
        (server, requests)
    }

    async fn calls(&self, server: &Server, root_certs: RootCerts) -> CallResult {
        let url = server.url.replace("http://127.0.0.1", "https://localhost");
        let client = client(UpstreamSettings { root_certs, ..settings(&url) });
        call_with(&client, &url, BOUNDS).await
    }

    fn root_certs(&self) -> RootCerts {
        RootCerts::only(&self.certificate.pem()).unwrap()
    }
}

const YET: i32 = 4000;
const PAST: i32 = 2020;

#[tokio::test]
async fn only_an_upstream_with_a_trusted_certificate_of_its_name_gets_the_request() {
    let (ours, other) = (Authority::new(), Authority::new());
    let (server, requests) = ours.certified(&["localhost"], YET).await;
    for root_certs in [RootCerts::default(), other.root_certs()] {
        let called = ours.calls(&server, root_certs).await;
        assert!(why(&called).contains("invalid peer certificate"), "{called:?}");
        assert!(why(&called).contains("`upstream_ca_file`"), "{called:?}");
    }
    assert_eq!(requests.load(Ordering::SeqCst), 0);
    assert_eq!(status(&ours.calls(&server, ours.root_certs()).await), 200);
    let both = [ours.certificate.pem(), other.certificate.pem()].concat();
    assert_eq!(status(&ours.calls(&server, RootCerts::only(&both).unwrap()).await), 200);

    for (names, until, remedy) in [
        (&["elsewhere.example"][..], YET, "use a host name that the upstream's certificate contains"),
        // As the servers of large hosters have.
        (&["elsewhere.example"; 500], YET, "use a host name that the upstream's certificate contains"),
        (&["localhost"], PAST, "it expired at 2020-01-01T00:00:00Z; the upstream's certificate must be renewed"),
    ] {
        let (server, requests) = ours.certified(names, until).await;
        let called = ours.calls(&server, ours.root_certs()).await;
        assert!(why(&called).contains(remedy) && why(&called).len() < 500, "{called:?}");
        assert_eq!(requests.load(Ordering::SeqCst), 0);
    }
}
