#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use tokio::io::AsyncReadExt as _;

use super::*;

/// Reads everything with a buffer of this size.
async fn read(bytes: &[u8], size: usize) -> (Vec<u8>, io::Result<()>) {
    let mut checked_connection = CheckedConnection::new(bytes, Duration::MAX);
    let mut read = Vec::new();
    let mut buffer = vec![0; size];
    loop {
        match checked_connection.read(&mut buffer).await {
            Ok(0) => return (read, Ok(())),
            Ok(now) => read.extend_from_slice(&buffer[..now]),
            Err(error) => return (read, Err(error)),
        }
    }
}

#[tokio::test]
async fn valid_requests_pass_unchanged() {
    let bytes = b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n\n\0PUT / HTTP/1.1\r\nHo";
    for size in [1, 2, 7, 1000] {
        let (read, end) = read(bytes, size).await;
        end.unwrap();
        assert_eq!(read, bytes);
    }
}

#[tokio::test]
async fn an_invalid_head_is_made_unparsable() {
    let bytes = b"GET / HTTP/1.1\r\nHost: x\r\nX: y\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n";
    for size in [1, 2, 7, 1000] {
        let (read, end) = read(bytes, size).await;
        end.unwrap();
        assert_eq!(read, b"GET / HTTP/1.1\r\nHost: x\r\nX: y\0\r\n\r\n");
    }
}

#[tokio::test]
async fn reading_an_invalid_body_fails() {
    let bytes = b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\n0\r\n\r\nGET / HTTP/1.1\r\n";
    for size in [1, 2, 7, 1000] {
        let (read, end) = read(bytes, size).await;
        assert_eq!(end.unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(read.ends_with(b"\r\n\r\n1\r\nx"), "{read:?}");
    }
}
