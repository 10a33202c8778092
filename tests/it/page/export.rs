//! Exports of dead letters that nobody reads.

use dripfeed_bucket::Bucket;
use dripfeed_tests::buckets::{self, buried, join, settle, submit, take_one};
use dripfeed_tests::service::{PATIENCE, Service};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";
/// Of one visitor at a time.
const EXPORTS: usize = 2;

/// An export whose client reads no more than the status.
async fn begin(host: &str) -> (TcpStream, String) {
    let socket = TcpSocket::new_v4().expect("a socket");
    // So that little fits between us.
    socket.set_recv_buffer_size(4096).expect("a buffer");
    let mut tcp = socket.connect(host.parse().expect("an address")).await.expect("a connection");
    let request = format!("GET /buckets/b/dead/export HTTP/1.1\r\nHost: {host}\r\n\r\n");
    tcp.write_all(request.as_bytes()).await.expect("a request");
    let mut status = [0; 12];
    tcp.read_exact(&mut status).await.expect("an answer");
    (tcp, String::from_utf8_lossy(&status).into_owned())
}

#[tokio::test]
async fn exports_that_are_not_read_use_bounded_memory() {
    let service = Service::new(BUCKET).await;
    let intake = service.role("intake", &[]).await;
    let bucket = Bucket::new(service.store().clone(), buckets::settings("b"));
    let replica = join(&bucket, "east").await;
    for _ in 0..4 {
        // In JSON six times as long.
        submit(&bucket, buckets::job("\u{1}".repeat(1_000_000))).await;
        settle(&replica, take_one(&replica).await, buried("no luck")).await;
    }
    let host = intake.url().trim_start_matches("http://").to_owned();
    let mut unread = Vec::new();
    for _ in 0..EXPORTS {
        let (export, status) = begin(&host).await;
        assert_eq!(status, "HTTP/1.1 200");
        unread.push(export);
    }
    assert_eq!(begin(&host).await.1, "HTTP/1.1 503", "each keeps a page of letters in memory");
    drop(unread);
    let ended = async { while begin(&host).await.1 != "HTTP/1.1 200" {} };
    tokio::time::timeout(PATIENCE, ended).await.expect("another one can begin");
}
