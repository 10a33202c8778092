//! A proxy in front of a real Redis that injects faults into selected calls: another reply than the server's, or none.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_util::codec::FramedRead;
use tokio_util::task::AbortOnDropHandle;

use crate::accept::accept;
use crate::machine;
use crate::proxy::resp::Messages;
use crate::redis_server::TestRedis;
use crate::scripts::{Called, Scripts};

/// Timeout for a call that a test has caused.
const PATIENCE: Duration = Duration::from_secs(30);
/// Number of seconds in which regular calls are counted.
const SECONDS: u64 = 5;

/// A fault of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyFault {
    /// It isn't executed, and this error is the reply.
    Error(&'static str),
    /// It isn't executed, and the connection is closed.
    Drop,
    /// It is executed, and the connection is closed instead of a reply.
    Close,
    /// It is executed, and the connection is closed in the middle of the reply.
    Half,
    /// It is executed, and the reply is invalid.
    Garbage,
    /// It waits until the test releases it, and is executed then.
    Hold,
}

impl ProxyFault {
    /// Whether the call is executed all the same.
    pub const fn is_carried_out(self) -> bool {
        matches!(self, Self::Close | Self::Half | Self::Garbage | Self::Hold)
    }
}

pub struct RedisFaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: AbortOnDropHandle<()>,
}

struct Shared {
    redis: PathBuf,
    book: Mutex<Book>,
    /// The number of injected faults.
    done: watch::Sender<u64>,
    /// Releases the waiting call.
    released: Notify,
}

#[derive(Default)]
struct Book {
    scripts: Scripts,
    /// By name of the call: the fault of the next calls, and their number.
    plans: BTreeMap<String, (ProxyFault, u64)>,
    calls: BTreeMap<String, u64>,
}

impl RedisFaultProxy {
    pub async fn before(redis: &TestRedis) -> Self {
        let listener = TcpListener::bind((machine::own_loopback(), 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let redis = redis.folder().join("redis.sock");
        let (done, released) = (watch::Sender::new(0), Notify::new());
        let shared = Arc::new(Shared { redis, book: Mutex::default(), done, released });
        let serving = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self { address, shared, _serving: AbortOnDropHandle::new(serving) }
    }

    /// `redis.url`.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// Injects a fault into the next `times` calls of a script, by the name of its file, or of a command.
    pub fn plan(&self, name: &str, fault: ProxyFault, times: u64) {
        self.shared.book().plans.insert(name.to_owned(), (fault, times));
    }

    /// Removes the planned fault of a call.
    pub fn behave(&self, name: &str) {
        self.shared.book().plans.remove(name);
    }

    /// Whether all planned faults of a call have happened.
    pub fn has_done(&self, name: &str) -> bool {
        !self.shared.book().plans.contains_key(name)
    }

    /// Waits until all planned faults of a call have happened.
    pub async fn done(&self, name: &str) {
        self.any_done(&[name]).await;
    }

    /// Waits until all planned faults of one of these calls have happened.
    pub async fn any_done(&self, names: &[&str]) {
        let mut changes = self.shared.done.subscribe();
        let is_done = || names.iter().any(|name| self.has_done(name));
        let done = tokio::time::timeout(PATIENCE, changes.wait_for(|_| is_done())).await.is_ok();
        assert!(done, "nobody called {names:?} within {PATIENCE:?}");
    }

    /// Releases the waiting call.
    pub fn release(&self) {
        self.shared.released.notify_one();
    }

    /// The number of calls of a script or command so far.
    pub fn calls(&self, name: &str) -> u64 {
        self.shared.book().calls.get(name).copied().unwrap_or(0)
    }

    /// Whether a script is called at least once a second, for some seconds. The test sleeps one second at a time,
    /// because a busy machine delays these sleeps as those of the caller.
    pub async fn is_called_every_second(&self, name: &str) -> bool {
        let before = self.calls(name);
        for _ in 0..SECONDS {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.calls(name) - before >= SECONDS
    }

    /// Waits until a script with a single caller has been called twice from now on. Then the caller has the first
    /// reply.
    pub async fn answered(&self, name: &str) {
        let before = self.calls(name);
        crate::service::until(&format!("{name} is called twice"), async || self.calls(name) >= before + 2).await;
    }

    /// The number of all calls so far, without the ACL commands, of which one request every few seconds has many.
    pub fn all_calls(&self) -> u64 {
        self.shared.book().calls.iter().filter(|(name, _)| *name != "ACL").map(|(_, calls)| calls).sum()
    }

    /// The names of called scripts and commands.
    pub fn names(&self) -> Vec<String> {
        self.shared.book().calls.keys().cloned().collect()
    }
}

impl Shared {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fault of a command; `None` if it is forwarded unchanged.
    fn judge(&self, command: &[u8]) -> Option<ProxyFault> {
        let mut book = self.book();
        let name = match book.scripts.called_by(command)? {
            Called::Script(name) => name.to_owned(),
            Called::Command(name) => name,
            // Then the client sends the source, which identifies the script.
            Called::UnknownScript => return Some(ProxyFault::Error("NOSCRIPT No matching script. Please use EVAL.")),
        };
        *book.calls.entry(name.clone()).or_default() += 1;
        let (fault, left) = book.plans.get_mut(&name)?;
        let fault = *fault;
        *left -= 1;
        if *left == 0 {
            book.plans.remove(&name);
        }
        drop(book);
        self.done.send_modify(|done| *done += 1);
        Some(fault)
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with the proxy, and all its connections with it.
    let mut connections = JoinSet::new();
    loop {
        let client = accept(&listener).await;
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            // If one side ends, the other is closed, too.
            let _ = pass(client, &shared).await;
        });
    }
}

/// Forwards one call after the other, and reads the next after the reply, as Redis does.
async fn pass(client: TcpStream, shared: &Shared) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    let (from_client, mut to_client) = client.into_split();
    let (from_redis, mut to_redis) = UnixStream::connect(&shared.redis).await?.into_split();
    let (mut from_client, mut from_redis) =
        (FramedRead::new(from_client, Messages), FramedRead::new(from_redis, Messages));
    while let Some(command) = from_client.next().await.transpose()? {
        let fault = shared.judge(&command);
        if let Some(ProxyFault::Error(error)) = fault {
            to_client.write_all(format!("-{error}\r\n").as_bytes()).await?;
            continue;
        }
        if fault == Some(ProxyFault::Drop) {
            return Ok(());
        }
        if fault == Some(ProxyFault::Hold) {
            shared.released.notified().await;
        }
        to_redis.write_all(&command).await?;
        let Some(reply) = reply_to(&mut from_redis, &mut to_client).await? else { return Ok(()) };
        match fault {
            Some(ProxyFault::Close) => return Ok(()),
            Some(ProxyFault::Half) => return to_client.write_all(&reply[..reply.len() / 2]).await,
            Some(ProxyFault::Garbage) => to_client.write_all(b"\x00\xffgarbage\r\n").await?,
            _ => to_client.write_all(&reply).await?,
        }
    }
    Ok(())
}

/// Reads a reply. `None` if Redis is gone. Push messages are forwarded at once.
async fn reply_to(
    redis: &mut FramedRead<OwnedReadHalf, Messages>,
    client: &mut (impl AsyncWrite + Unpin),
) -> std::io::Result<Option<Bytes>> {
    while let Some(message) = redis.next().await.transpose()? {
        if !message.starts_with(b">") {
            return Ok(Some(message));
        }
        client.write_all(&message).await?;
    }
    Ok(None)
}
