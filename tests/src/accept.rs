//! Accepting connections for as long as a test runs.

use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

/// The next connection. One that fails, or a lack of files for the moment, ends nothing: others are heard all the same.
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
