//! Pub/sub messages, over one connection for all channels of this process.
//!
//! The connection is opened with the first subscription, and replaced when it is lost. Messages may be lost with it, or
//! if a reader is slow. Readers then get [`ChannelEvent::Missed`], and must check the state in Redis.

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use redis::{PushInfo, PushKind, Value, aio::MultiplexedConnection};
use tokio::sync::{Notify, broadcast};
use tokio::time::Instant;

use crate::connect::connector::Connector;
use crate::connection::bell::{Bell, BellMessages, BellRinger};
use crate::connection::health::SETTLED;
use crate::connection::reconnect_backoff::pauses;
use crate::connection::restart_on_panic::restart_on_panic;
use crate::error::{Operation, StoreError};

/// How many messages are queued for a slow reader before it misses some.
const QUEUE: usize = 1024;
/// The timeout of a command. Without a reply the connection is replaced.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// The interval of PINGs, because a server that hangs keeps the connection open.
const PING_INTERVAL: Duration = Duration::from_secs(2);
/// The number of channels per command, so that none blocks Redis for long.
const CHUNK: usize = 500;
/// Below this number, channels without readers aren't removed.
const MIN_REMOVED: usize = 64;

/// If a connection is subscribed to more channels without readers than this, and than it has with readers, it is
/// replaced. It doesn't unsubscribe, because the ACL may not permit that.
const MAX_UNREAD: usize = 1000;

/// An event of a subscription.
#[derive(Debug, Clone)]
pub enum ChannelEvent {
    Message(Arc<[u8]>),
    /// Messages may have been missed: the connection was opened, or messages were lost.
    Missed,
}

/// The messages of one channel from now on.
#[derive(Debug)]
pub struct Subscription(broadcast::Receiver<ChannelEvent>);

impl Subscription {
    /// Returns the next event, or `None` if the store was dropped or closed. Cancel safe.
    pub async fn next(&mut self) -> Option<ChannelEvent> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(ChannelEvent::Missed),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// The subscriptions of a store.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    channels: Mutex<Channels>,
    /// Notified when a channel is added, or the connection is lost.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Channels {
    readers: HashMap<String, Readers>,
    /// The channels that aren't subscribed to yet.
    new: Vec<String>,
    /// The number of channels with readers at the last count.
    read: usize,
    /// The number of channels that the connection has subscribed to.
    subscribed: usize,
    is_listening: bool,
    is_closed: bool,
}

/// The readers of a channel. A bell has no queue, because there may be thousands of bells.
#[derive(Debug, Default)]
struct Readers {
    messages: Option<broadcast::Sender<ChannelEvent>>,
    ringer: Option<BellRinger>,
}

impl Channels {
    /// Removes channels without readers.
    fn remove_unread(&mut self) {
        self.readers.retain(|_, readers| readers.is_read());
        self.read = self.readers.len();
    }

    fn are_mostly_unread(&mut self) -> bool {
        let are_too_many = |channels: &Self| channels.subscribed > 2 * channels.read + MAX_UNREAD;
        if are_too_many(self) {
            self.remove_unread();
        }
        are_too_many(self)
    }
}

impl Readers {
    fn is_read(&self) -> bool {
        let has_readers = |messages: &broadcast::Sender<_>| messages.receiver_count() > 0;
        self.messages.as_ref().is_some_and(has_readers) || self.ringer.as_ref().is_some_and(BellRinger::has_bells)
    }

    fn send(&self, event: ChannelEvent) {
        if let Some(ringer) = &self.ringer {
            match &event {
                ChannelEvent::Message(message) => ringer.on_message(message),
                ChannelEvent::Missed => ringer.on_missed(),
            }
        }
        if let Some(messages) = &self.messages {
            // Fails if the last reader was dropped.
            let _ = messages.send(event);
        }
    }
}

impl Subscriptions {
    /// `connector` returns a server for each new connection.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        channel: &str,
        connector: impl Fn() -> Option<Connector> + Clone + Send + Sync + 'static,
    ) -> Subscription {
        let open = || broadcast::channel(QUEUE).0;
        let read = |readers: &mut Readers| readers.messages.get_or_insert_with(open).subscribe();
        Subscription(self.read_by(channel, read, connector))
    }

    /// Returns a bell. All bells of a channel must have the same messages.
    pub(crate) fn bell(
        self: &Arc<Self>,
        channel: &str,
        messages: BellMessages,
        connector: impl Fn() -> Option<Connector> + Clone + Send + Sync + 'static,
    ) -> Bell {
        let read = |readers: &mut Readers| readers.ringer.get_or_insert_with(|| BellRinger::new(messages)).bell();
        self.read_by(channel, read, connector)
    }

    fn read_by<T>(
        self: &Arc<Self>,
        channel: &str,
        read: impl FnOnce(&mut Readers) -> T,
        connector: impl Fn() -> Option<Connector> + Clone + Send + Sync + 'static,
    ) -> T {
        let mut channels = self.channels.lock();
        if channels.is_closed {
            return read(&mut Readers::default());
        }
        // A known channel has a subscription already, or gets one soon.
        let is_new = !channels.readers.contains_key(channel);
        if is_new {
            channels.new.push(channel.to_owned());
        }
        let reader = read(channels.readers.entry(channel.to_owned()).or_default());
        // Only after their number has doubled, so that the cost of checking all channels is small for each new one.
        if channels.readers.len() > 2 * channels.read + MIN_REMOVED {
            channels.remove_unread();
        }
        if !channels.is_listening {
            channels.is_listening = true;
            let weak = Arc::downgrade(self);
            tokio::spawn(restart_on_panic("listening to Redis", move || {
                keep_listening(weak.clone(), connector.clone())
            }));
        }
        drop(channels);
        if is_new {
            self.changed.notify_one();
        }
        reader
    }

    /// Ends all subscriptions. Later ones end at once.
    pub(crate) fn close(&self) {
        let mut channels = self.channels.lock();
        channels.is_closed = true;
        channels.readers.clear();
        drop(channels);
        self.changed.notify_one();
    }

    /// Returns all channels with readers.
    fn all(&self) -> Vec<String> {
        let mut channels = self.channels.lock();
        channels.remove_unread();
        channels.new.clear();
        channels.subscribed = channels.read;
        channels.readers.keys().cloned().collect()
    }

    fn take_new(&self) -> Vec<String> {
        let mut channels = self.channels.lock();
        channels.subscribed += channels.new.len();
        std::mem::take(&mut channels.new)
    }

    /// Whether to close the connection.
    fn is_over(&self) -> bool {
        let mut channels = self.channels.lock();
        channels.is_closed || channels.are_mostly_unread()
    }

    fn send(&self, channel: &str, event: ChannelEvent) {
        if let Some(readers) = self.channels.lock().readers.get(channel) {
            readers.send(event);
        }
    }

    /// Sends a message to the readers of its channel.
    fn dispatch(&self, push: &PushInfo) {
        if let (PushKind::Message, [Value::BulkString(channel), Value::BulkString(message)]) =
            (&push.kind, &push.data[..])
            && let Ok(channel) = std::str::from_utf8(channel)
        {
            self.send(channel, ChannelEvent::Message(message.as_slice().into()));
        }
    }
}

async fn keep_listening(subscriptions: Weak<Subscriptions>, connector: impl Fn() -> Option<Connector>) {
    let mut rests = pauses();
    loop {
        let Some(own) = subscriptions.upgrade().filter(|own| !own.channels.lock().is_closed) else { return };
        if let Some(connector) = connector()
            && let Ok(connection) = connect(&connector, &own).await
        {
            let (changed, begun) = (Arc::clone(&own), Instant::now());
            drop(own);
            if let Err(error) = listen(connection, &changed).await {
                tracing::debug!(%error, "lost the pub/sub connection to Redis; reconnecting");
            }
            // If Redis refuses the subscription each time, the pauses become longer.
            if begun.elapsed() >= SETTLED {
                rests = pauses();
            }
        }
        if let Some(rest) = rests.next() {
            tokio::time::sleep(rest).await;
        }
    }
}

/// A connection, and whether it was lost.
type Connected = (MultiplexedConnection, Arc<AtomicBool>);

async fn connect(connector: &Connector, own: &Arc<Subscriptions>) -> Result<Connected, StoreError> {
    let (subscriptions, lost) = (Arc::downgrade(own), Arc::new(AtomicBool::new(false)));
    let is_lost = Arc::clone(&lost);
    let on_push = move |push: PushInfo| {
        let Some(own) = subscriptions.upgrade() else { return };
        if push.kind == PushKind::Disconnection {
            is_lost.store(true, Ordering::SeqCst);
            own.changed.notify_one();
        } else {
            own.dispatch(&push);
        }
    };
    Ok((connector.connect_and_listen(on_push).await?.0, lost))
}

/// Listens until the connection is lost, or has too many channels without readers, which the next connection omits.
async fn listen((mut connection, lost): Connected, own: &Subscriptions) -> Result<(), StoreError> {
    let mut wanted = own.all();
    while !lost.load(Ordering::SeqCst) && !own.is_over() {
        for channels in wanted.chunks(CHUNK) {
            subscribe(&mut connection, channels).await?;
            // Earlier messages were missed.
            channels.iter().for_each(|channel| own.send(channel, ChannelEvent::Missed));
        }
        tokio::select! {
            () = own.changed.notified() => {}
            () = tokio::time::sleep(PING_INTERVAL) => ping(&mut connection).await?,
        }
        wanted = own.take_new();
    }
    Ok(())
}

async fn ping(connection: &mut MultiplexedConnection) -> Result<(), StoreError> {
    let ping = redis::cmd("PING");
    with_timeout(Operation::Command(&ping), ping.query_async(connection)).await
}

async fn subscribe(connection: &mut MultiplexedConnection, channels: &[String]) -> Result<(), StoreError> {
    let subscribe = redis::cmd("SUBSCRIBE");
    with_timeout(Operation::Command(&subscribe), connection.subscribe(channels)).await
}

/// Waits for a reply until `REPLY_TIMEOUT`.
async fn with_timeout(
    during: Operation<'_>,
    reply: impl Future<Output = redis::RedisResult<()>>,
) -> Result<(), StoreError> {
    match tokio::time::timeout(REPLY_TIMEOUT, reply).await {
        Ok(reply) => reply.map_err(|error| StoreError::calling(during, error)),
        Err(_) => Err(StoreError::timed_out(during)),
    }
}
