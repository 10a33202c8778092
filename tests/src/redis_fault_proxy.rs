//! A door to Redis that misbehaves as reported. Behind it is a real server, so that all state is real; before it,
//! chosen calls get another answer than that server's, or none.

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

/// For a call that a test has brought about to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// In which the calls of something regular are counted.
const SECONDS: u64 = 5;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyFault {
    /// It isn't carried out; this error is the answer.
    Error(&'static str),
    /// It isn't carried out, and the connection is closed.
    Drop,
    /// It is carried out, and the connection is closed instead of an answer;
    Close,
    /// in the middle of the answer;
    Half,
    /// or bytes come that are none.
    Garbage,
    /// It waits until the test releases it, and is carried out then.
    Hold,
}

impl ProxyFault {
    /// Whether the call has taken effect all the same.
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
    /// How many faults were done.
    done: watch::Sender<u64>,
    /// For the call that waits.
    released: Notify,
}

#[derive(Default)]
struct Book {
    scripts: Scripts,
    /// By the name of the call: what becomes of the next this many.
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

    /// The next `times` calls of that name are answered so: a script by the name of its file, or a command.
    pub fn plan(&self, name: &str, fault: ProxyFault, times: u64) {
        self.shared.book().plans.insert(name.to_owned(), (fault, times));
    }

    /// No call of that name is answered otherwise any more.
    pub fn behave(&self, name: &str) {
        self.shared.book().plans.remove(name);
    }

    /// Whether what was planned for that name has happened.
    pub fn has_done(&self, name: &str) -> bool {
        !self.shared.book().plans.contains_key(name)
    }

    /// Returns when what was planned for that name has happened.
    pub async fn done(&self, name: &str) {
        self.any_done(&[name]).await;
    }

    /// Returns when what was planned for one of these names has happened.
    pub async fn any_done(&self, names: &[&str]) {
        let mut changes = self.shared.done.subscribe();
        let is_done = || names.iter().any(|name| self.has_done(name));
        let done = tokio::time::timeout(PATIENCE, changes.wait_for(|_| is_done())).await.is_ok();
        assert!(done, "nobody called {names:?} within {PATIENCE:?}");
    }

    /// The call that waits goes on.
    pub fn release(&self) {
        self.shared.released.notify_one();
    }

    /// How often a script or command was called so far.
    pub fn calls(&self, name: &str) -> u64 {
        self.shared.book().calls.get(name).copied().unwrap_or(0)
    }

    /// Whether a script is called once a second or more often, for some seconds. This test sleeps them one after the
    /// other: what delays the sleep of the caller on a busy machine delays these too.
    pub async fn is_called_every_second(&self, name: &str) -> bool {
        let before = self.calls(name);
        for _ in 0..SECONDS {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        self.calls(name) - before >= SECONDS
    }

    /// Returns when a script that nothing else calls has been called twice from now on, one after the other. Then the
    /// first caller knows the answer.
    pub async fn answered(&self, name: &str) {
        let before = self.calls(name);
        crate::service::until(&format!("{name} is called twice"), async || self.calls(name) >= before + 2).await;
    }

    /// All calls so far, without questions about the ACL, of which one request every few seconds has many.
    pub fn all_calls(&self) -> u64 {
        self.shared.book().calls.iter().filter(|(name, _)| *name != "ACL").map(|(_, calls)| calls).sum()
    }

    /// Which scripts and commands were called.
    pub fn names(&self) -> Vec<String> {
        self.shared.book().calls.keys().cloned().collect()
    }
}

impl Shared {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None: as Redis will.
    fn judge(&self, command: &[u8]) -> Option<ProxyFault> {
        let mut book = self.book();
        let name = match book.scripts.called_by(command)? {
            Called::Script(name) => name.to_owned(),
            Called::Command(name) => name,
            // Its source comes next, and reports its name.
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
            // Whatever ends one end of a connection ends the other.
            let _ = pass(client, &shared).await;
        });
    }
}

/// One call after the other, each answered before the next is read: as Redis does it.
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

/// None: Redis has gone. What Redis says unasked goes on at once.
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
