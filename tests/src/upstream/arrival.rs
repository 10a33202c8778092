//! When bytes arrived, by the kernel's timestamps: a test that stands still reads them late.

use std::io::{self, IoSliceMut, Write as _};
use std::net;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant, SystemTime};

use nix::cmsg_space;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// They take about a second.
const MAX_TRIES: usize = 200_000;

/// Makes the kernel note when bytes arrive on connections to `listener`, also before they are accepted.
pub fn note_arrivals(listener: &TcpListener) {
    static NOTING: OnceLock<(net::TcpStream, net::TcpStream)> = OnceLock::new();
    setsockopt(listener, ReceiveTimestampns, &true).expect("a kernel that notes arrivals");
    NOTING.get_or_init(|| noting_connection().expect("a connection whose arrivals are noted"));
}

/// Returns a connection on which the kernel notes arrivals. It starts a moment after the first socket of the machine
/// asks for that, and stops after the last one is closed, so one is kept open. With a kernel that never notes any,
/// arrivals are when the bytes are read.
fn noting_connection() -> io::Result<(net::TcpStream, net::TcpStream)> {
    let listener = net::TcpListener::bind("127.0.0.1:0")?;
    setsockopt(&listener, ReceiveTimestampns, &true)?;
    let mut sender = net::TcpStream::connect(listener.local_addr()?)?;
    let (receiver, _) = listener.accept()?;
    for _ in 0..MAX_TRIES {
        sender.write_all(b"x")?;
        if receive(&receiver, &mut [0])?.1.is_some() {
            break;
        }
    }
    Ok((sender, receiver))
}

/// When the bytes arrived that were last read from a connection.
#[derive(Clone)]
pub struct Arrival(Arc<Mutex<Instant>>);

impl Arrival {
    pub fn time(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that was accepted from a listener passed to [`note_arrivals`].
pub struct NotedStream {
    stream: TcpStream,
    arrival: Arrival,
}

impl NotedStream {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, arrival: Arrival(Arc::new(Mutex::new(Instant::now()))) }
    }

    pub fn arrival(&self) -> Arrival {
        self.arrival.clone()
    }
}

/// Receives bytes. Returns their number, and when the kernel got the last of them.
fn receive(stream: &impl AsRawFd, into: &mut [u8]) -> io::Result<(usize, Option<SystemTime>)> {
    let mut parts = [IoSliceMut::new(into)];
    let mut space = cmsg_space!(TimeSpec);
    let received = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(&mut space), MsgFlags::empty())?;
    let noted = received.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(at) => Some(SystemTime::UNIX_EPOCH + Duration::from(at)),
        _ => None,
    });
    Ok((received.bytes, noted))
}

/// Converts a time of the wall clock, to a tenth of a millisecond.
fn instant(noted: SystemTime) -> Instant {
    const EXACT: Duration = Duration::from_micros(100);
    loop {
        let now = Instant::now();
        let ago = noted.elapsed().unwrap_or_default();
        // Repeated if this process stood still between the readings of the two clocks.
        if now.elapsed() < EXACT {
            return now.checked_sub(ago).unwrap_or(now);
        }
    }
}

impl AsyncRead for NotedStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { stream, arrival } = self.get_mut();
        loop {
            ready!(stream.poll_read_ready(context))?;
            match stream.try_io(Interest::READABLE, || receive(stream, into.initialize_unfilled())) {
                Ok((bytes, noted)) => {
                    into.advance(bytes);
                    // The end of a connection has no time.
                    *arrival.0.lock().unwrap_or_else(PoisonError::into_inner) =
                        noted.map_or_else(Instant::now, instant);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for NotedStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpStream;
    use std::thread;
    use std::time::{Duration, Instant};

    use crate::upstream::Upstream;

    #[expect(clippy::disallowed_methods, reason = "this test is to stand still")]
    #[tokio::test]
    async fn a_call_arrives_when_it_is_sent_however_late_this_test_reads_it() {
        let upstream = Upstream::willing().await;
        let address = upstream.url().trim_start_matches("http://").trim_end_matches("/feed").to_owned();
        let mut client = TcpStream::connect(address).unwrap();
        for calls in 1..=2 {
            client.write_all(b"POST /feed HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi").unwrap();
            let sent = Instant::now();
            // Nothing else of this test goes on meanwhile.
            thread::sleep(Duration::from_millis(300));
            upstream.has_got(calls).await;
            let late = upstream.calls()[calls - 1].arrived.saturating_duration_since(sent);
            assert!(late < Duration::from_millis(200), "it arrived {late:?} after it was sent");
        }
    }
}
