//! A TCP proxy that injects faults: delays, cuts after a number of bytes, lost replies and resets. In front of Redis it
//! recognizes scripts, and triggers breakpoints.

pub(crate) mod resp;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::accept::accept;
use crate::machine;
use crate::scripts::{Called, Scripts};
use crate::torture::breakpoint::{BreakpointAction, Breakpoints, Step};

/// Shared by all proxies, because the source of a script is sent once per server.
static SCRIPTS: LazyLock<Mutex<Scripts>> = LazyLock::new(Mutex::default);

/// The server behind a proxy.
#[derive(Clone)]
pub enum Behind {
    /// Redis, on its socket.
    Redis {
        socket: PathBuf,
        breakpoints: Breakpoints,
    },
    Tcp(SocketAddr),
}

/// One connection through a proxy, and its faults.
pub struct Link {
    /// Bytes that are still forwarded to the server, and to the client, before the connection is cut.
    to_server: AtomicUsize,
    to_client: AtomicUsize,
    /// Whether the server's replies are dropped.
    mute: AtomicBool,
    delay_ms: AtomicU64,
    replies_delay_ms: AtomicU64,
    reset: AtomicBool,
    /// Delay of the server's replies on all links of the proxy.
    late_ms: Arc<AtomicU64>,
    cut: CancellationToken,
}

impl Link {
    fn new(late_ms: Arc<AtomicU64>) -> Self {
        Self {
            late_ms,
            to_server: AtomicUsize::new(usize::MAX),
            to_client: AtomicUsize::new(usize::MAX),
            mute: AtomicBool::new(false),
            delay_ms: AtomicU64::new(0),
            replies_delay_ms: AtomicU64::new(0),
            reset: AtomicBool::new(false),
            cut: CancellationToken::new(),
        }
    }

    /// Cuts the connection after this many more bytes to the server.
    pub fn cut_to_server_after(&self, bytes: usize) {
        self.to_server.store(bytes, Ordering::SeqCst);
    }

    /// Cuts the connection after this many more bytes to the client.
    pub fn cut_to_client_after(&self, bytes: usize) {
        self.to_client.store(bytes, Ordering::SeqCst);
    }

    /// Forwards requests, but drops replies.
    pub fn lose_replies(&self) {
        self.mute.store(true, Ordering::SeqCst);
    }

    /// Delays both directions.
    pub fn delay(&self, by: Duration) {
        self.delay_ms.store(ms(by), Ordering::SeqCst);
    }

    /// Delays the server's replies.
    pub fn delay_replies(&self, by: Duration) {
        self.replies_delay_ms.store(ms(by), Ordering::SeqCst);
    }

    fn delay_on(&self, way: Way) -> Duration {
        let replies = [&self.replies_delay_ms, &*self.late_ms].map(|ms| ms.load(Ordering::SeqCst)).iter().sum::<u64>();
        let replies = if way == Way::ToClient { replies } else { 0 };
        Duration::from_millis(self.delay_ms.load(Ordering::SeqCst) + replies)
    }

    /// Closes the client's side.
    pub fn cut(&self) {
        self.cut.cancel();
    }

    /// Resets the client's side, which loses unread bytes.
    pub fn reset(&self) {
        self.reset.store(true, Ordering::SeqCst);
        self.cut.cancel();
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A reply of Redis that a replica's membership depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MembershipReply {
    Joined,
    Settled,
    Fenced,
}

pub struct Proxy {
    pub address: SocketAddr,
    words: MembershipReplies,
    links: Arc<Mutex<Vec<Weak<Link>>>>,
    late_ms: Arc<AtomicU64>,
    _serving: AbortOnDropHandle<()>,
}

type MembershipReplies = Arc<Mutex<Vec<(Instant, MembershipReply)>>>;

impl Proxy {
    pub async fn before(behind: Behind) -> Self {
        Self::on(machine::own_loopback(), behind).await
    }

    pub async fn on(ip: Ipv4Addr, behind: Behind) -> Self {
        let listener = TcpListener::bind((ip, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let (links, words, late_ms) = (Arc::default(), MembershipReplies::default(), Arc::<AtomicU64>::default());
        let serving = serve(listener, behind, Arc::clone(&links), Arc::clone(&late_ms), Arc::clone(&words));
        let serving = AbortOnDropHandle::new(tokio::spawn(serving));
        Self { address, words, links, late_ms, _serving: serving }
    }

    /// Delays the server's replies on all links, including later ones.
    pub fn answers_late(&self, by: Duration) {
        self.late_ms.store(ms(by), Ordering::SeqCst);
    }

    /// The open connections, oldest first.
    pub fn links(&self) -> Vec<Arc<Link>> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.strong_count() > 0);
        links.iter().filter_map(Weak::upgrade).collect()
    }

    /// The replies of Redis to settlements and joins through this proxy.
    pub fn words(&self) -> Vec<(Instant, MembershipReply)> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn serve(
    listener: TcpListener,
    behind: Behind,
    links: Arc<Mutex<Vec<Weak<Link>>>>,
    late_ms: Arc<AtomicU64>,
    words: MembershipReplies,
) {
    // Dropped with the proxy.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let client = accept(&listener).await;
        while connections.try_join_next().is_some() {}
        let link = Arc::new(Link::new(Arc::clone(&late_ms)));
        links.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&link));
        connections.spawn(connect(client, behind.clone(), link, Arc::clone(&words)));
    }
}

async fn connect(client: TcpStream, behind: Behind, link: Arc<Link>, words: MembershipReplies) {
    client.set_nodelay(true).ok();
    // If the server is gone, the client's connection is closed at once.
    match behind {
        Behind::Redis { socket, breakpoints } => {
            let Ok(server) = UnixStream::connect(socket).await else { return };
            let watch = ReplyWatch { breakpoints, words, awaited: Mutex::default() };
            pass(client, server, &link, Some(&watch)).await;
        }
        Behind::Tcp(address) => {
            let Ok(server) = TcpStream::connect(address).await else { return };
            server.set_nodelay(true).ok();
            pass(client, server, &link, None).await;
        }
    }
}

async fn pass(client: TcpStream, server: impl AsyncRead + AsyncWrite + Unpin, link: &Link, watch: Option<&ReplyWatch>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = tokio::io::split(server);
    tokio::select! {
        () = link.cut.cancelled() => {}
        () = pump(&mut from_client, &mut to_server, link, Way::ToServer, watch) => {}
        () = pump(&mut from_server, &mut to_client, link, Way::ToClient, watch) => {}
    }
    if link.reset.load(Ordering::SeqCst)
        && let Ok(client) = from_client.reunite(to_client)
    {
        client.set_zero_linger().ok();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    ToServer,
    ToClient,
}

/// Bytes per read, and reads that are kept until they are due.
const CHUNK: usize = 16 << 10;
const CHUNKS: usize = 256;

/// Forwards until one side has ended, or the link is cut.
async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    link: &Link,
    way: Way,
    watch: Option<&ReplyWatch>,
) {
    let (arrivals, arrived) = mpsc::channel(CHUNKS);
    tokio::select! {
        () = forward(arrived, to, link, way, watch) => {}
        // Bytes that arrived before the end are still forwarded.
        () = async { read(from, arrivals).await; std::future::pending().await } => {}
    }
}

/// Reads while earlier bytes wait, so that a delay doesn't reduce throughput.
async fn read(from: &mut (impl AsyncRead + Unpin), arrivals: mpsc::Sender<(Instant, BytesMut)>) {
    let mut bytes = BytesMut::with_capacity(CHUNK);
    while matches!(from.read_buf(&mut bytes).await, Ok(1..)) {
        if arrivals.send((Instant::now(), bytes.split())).await.is_err() {
            return;
        }
        bytes.reserve(CHUNK);
    }
}

async fn forward(
    mut arrived: mpsc::Receiver<(Instant, BytesMut)>,
    to: &mut (impl AsyncWrite + Unpin),
    link: &Link,
    way: Way,
    watch: Option<&ReplyWatch>,
) {
    let room = if way == Way::ToServer { &link.to_server } else { &link.to_client };
    let mut bytes = BytesMut::new();
    while let Some((at, chunk)) = arrived.recv().await {
        bytes.unsplit(chunk);
        let delay = link.delay_on(way);
        if !delay.is_zero() {
            tokio::time::sleep_until((at + delay).into()).await;
        }
        let (whole, open) = match watch {
            None => (bytes.len(), true),
            Some(watch) => watch.pass(&bytes, way).await,
        };
        if way == Way::ToClient && link.mute.load(Ordering::SeqCst) {
            bytes.advance(whole);
            continue;
        }
        let allowed = room.load(Ordering::SeqCst).min(whole);
        if to.write_all(&bytes[..allowed]).await.is_err() || allowed < whole || !open {
            return;
        }
        bytes.advance(whole);
        let left = |room| (room != usize::MAX).then(|| usize::saturating_sub(room, whole));
        // Unlimited stays unlimited.
        room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).ok();
    }
}

/// Watches commands and replies of Redis.
struct ReplyWatch {
    breakpoints: Breakpoints,
    words: MembershipReplies,
    /// The scripts whose replies are outstanding, in order; `None` for other commands.
    awaited: Mutex<VecDeque<Option<&'static str>>>,
}

impl ReplyWatch {
    /// How many of these bytes, in whole messages, may be forwarded. False if nothing may be after them.
    async fn pass(&self, bytes: &[u8], way: Way) -> (usize, bool) {
        let mut passed = 0;
        while let Some(length) = resp::length(&bytes[passed..]) {
            let message = &bytes[passed..passed + length];
            let hit = match way {
                Way::ToServer => self.request(message),
                Way::ToClient => self.reply(message),
            };
            if let Some(action) = hit {
                if action == BreakpointAction::Kill {
                    self.breakpoints.kill().await;
                }
                return (passed, false);
            }
            passed += length;
        }
        (passed, true)
    }

    fn request(&self, command: &[u8]) -> Option<BreakpointAction> {
        let called = SCRIPTS.lock().unwrap_or_else(PoisonError::into_inner).called_by(command);
        let script = if let Some(Called::Script(name)) = called { Some(name) } else { None };
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner).push_back(script);
        script.and_then(|script| self.breakpoints.take(Step::Before(script)))
    }

    fn reply(&self, message: &[u8]) -> Option<BreakpointAction> {
        // A push message isn't a reply to a command.
        if message[0] == b'>' {
            return None;
        }
        let script = self.awaited.lock().unwrap_or_else(PoisonError::into_inner).pop_front().flatten()?;
        let says = |word: &[u8]| message.windows(word.len()).take(32).any(|part| part == word);
        let word = match script {
            "join" if says(b"joined") => Some(MembershipReply::Joined),
            "settle" if says(b"settled") => Some(MembershipReply::Settled),
            "settle" if says(b"fenced") => Some(MembershipReply::Fenced),
            _ => None,
        };
        if let Some(word) = word {
            self.words.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), word));
        }
        // After an error nothing ran, and a take may have claimed no jobs.
        let nothing = message[0] == b'-' || script == "take" && !says(b"jobs");
        if nothing { None } else { self.breakpoints.take(Step::After(script)) }
    }
}
