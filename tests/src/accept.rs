//! Accepts connections as long as a test runs.

use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

/// Accepts the next connection. Errors, such as a lack of file descriptors, are ignored.
pub async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                eprintln!("{:?} can't accept: {error}", listener.local_addr());
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}
