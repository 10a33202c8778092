//! Pub/sub messages, over one connection for all channels of this process.
//!
//! The connection is opened with the first subscription, and again when it is lost. Messages can be lost with it, or if
//! a reader is slow: then readers get [`ChannelEvent::Missed`] and check for themselves.

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
use crate::connection::bell::{Bell, BellRope, BellWords};
use crate::connection::health::SETTLED;
use crate::connection::lasting_task::keep_running;
use crate::connection::reconnect_backoff::pauses;
use crate::error::{Operation, StoreError};

/// Messages that wait for a slow reader; beyond it misses some.
const WAITING: usize = 1024;
/// For the reply to a command; without one the connection is given up.
const CONFIRMED: Duration = Duration::from_secs(2);
/// A server that hangs keeps the connection open: it is asked this often whether it is still there.
const BETWEEN_PINGS: Duration = Duration::from_secs(2);
/// Channels in one command, so that none keeps Redis from others for long.
const AT_ONCE: usize = 500;
/// Channels that nobody may read any more and are known all the same, however few are read.
const FEW: usize = 64;

/// Channels of a connection that nobody reads any more: with more, and more than are read, another connection is made.
/// Redis keeps each of them, and its ACL needn't let us unsubscribe.
const MOST_LEFT: usize = 1000;

/// What a subscription brings.
#[derive(Debug, Clone)]
pub enum ChannelEvent {
    Message(Arc<[u8]>),
    /// The connection was made, or messages were lost: there may have been others.
    Missed,
}

/// The messages of one channel from now on.
#[derive(Debug)]
pub struct Subscription(broadcast::Receiver<ChannelEvent>);

impl Subscription {
    /// The next message. `None`: the store is gone. May be dropped at any time.
    pub async fn next(&mut self) -> Option<ChannelEvent> {
        match self.0.recv().await {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(ChannelEvent::Missed),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

/// Those of one process.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    channels: Mutex<Channels>,
    /// A channel was added, or the connection was lost.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Channels {
    readers: HashMap<String, Readers>,
    /// Those of them that aren't subscribed to yet.
    new: Vec<String>,
    /// How many of them were read when that was last looked at.
    read: usize,
    /// How many the connection has subscribed to.
    subscribed: usize,
    is_listening: bool,
    is_closed: bool,
}

/// Of one channel. A bell takes no room for messages: there may be thousands of them.
#[derive(Debug, Default)]
struct Readers {
    messages: Option<broadcast::Sender<ChannelEvent>>,
    rope: Option<BellRope>,
}

impl Channels {
    /// Forgets those that nobody reads any more.
    fn forget_unread(&mut self) {
        self.readers.retain(|_, readers| readers.is_read());
        self.read = self.readers.len();
    }

    fn are_mostly_unread(&mut self) -> bool {
        let are_too_many = |channels: &Self| channels.subscribed > 2 * channels.read + MOST_LEFT;
        if are_too_many(self) {
            self.forget_unread();
        }
        are_too_many(self)
    }
}

impl Readers {
    fn is_read(&self) -> bool {
        let has_readers = |messages: &broadcast::Sender<_>| messages.receiver_count() > 0;
        self.messages.as_ref().is_some_and(has_readers) || self.rope.as_ref().is_some_and(BellRope::has_bells)
    }

    fn say(&self, event: ChannelEvent) {
        if let Some(rope) = &self.rope {
            match &event {
                ChannelEvent::Message(message) => rope.hear(message),
                ChannelEvent::Missed => rope.miss(),
            }
        }
        if let Some(messages) = &self.messages {
            // Who read it may have left.
            let _ = messages.send(event);
        }
    }
}

impl Subscriptions {
    /// `connector` names a server to listen to, each time that one is needed.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        channel: &str,
        connector: impl Fn() -> Option<Connector> + Clone + Send + Sync + 'static,
    ) -> Subscription {
        let open = || broadcast::channel(WAITING).0;
        let read = |readers: &mut Readers| readers.messages.get_or_insert_with(open).subscribe();
        Subscription(self.read_by(channel, read, connector))
    }

    /// Rings with its word on the channel. All bells of a channel have the same words.
    pub(crate) fn bell(
        self: &Arc<Self>,
        channel: &str,
        words: BellWords,
        connector: impl Fn() -> Option<Connector> + Clone + Send + Sync + 'static,
    ) -> Bell {
        let read = |readers: &mut Readers| readers.rope.get_or_insert_with(|| BellRope::new(words)).bell();
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
        // One that is known is subscribed to already, or about to be: another reader costs nothing.
        let is_new = !channels.readers.contains_key(channel);
        if is_new {
            channels.new.push(channel.to_owned());
        }
        let reader = read(channels.readers.entry(channel.to_owned()).or_default());
        // So that a look at all of them costs little for each that came.
        if channels.readers.len() > 2 * channels.read + FEW {
            channels.forget_unread();
        }
        if !channels.is_listening {
            channels.is_listening = true;
            let weak = Arc::downgrade(self);
            tokio::spawn(keep_running("listening to Redis", move || keep_listening(weak.clone(), connector.clone())));
        }
        drop(channels);
        if is_new {
            self.changed.notify_one();
        }
        reader
    }

    /// Nobody can subscribe any more: who reads is given the end.
    pub(crate) fn close(&self) {
        let mut channels = self.channels.lock();
        channels.is_closed = true;
        channels.readers.clear();
        drop(channels);
        self.changed.notify_one();
    }

    /// All that somebody reads.
    fn all(&self) -> Vec<String> {
        let mut channels = self.channels.lock();
        channels.forget_unread();
        channels.new.clear();
        channels.subscribed = channels.read;
        channels.readers.keys().cloned().collect()
    }

    fn take_new(&self) -> Vec<String> {
        let mut channels = self.channels.lock();
        channels.subscribed += channels.new.len();
        std::mem::take(&mut channels.new)
    }

    /// Whether the connection is of no more use.
    fn is_over(&self) -> bool {
        let mut channels = self.channels.lock();
        channels.is_closed || channels.are_mostly_unread()
    }

    fn say(&self, channel: &str, event: ChannelEvent) {
        if let Some(readers) = self.channels.lock().readers.get(channel) {
            readers.say(event);
        }
    }

    /// Channel and message, in the push of one.
    fn pass_on(&self, push: &PushInfo) {
        if let (PushKind::Message, [Value::BulkString(channel), Value::BulkString(message)]) =
            (&push.kind, &push.data[..])
            && let Ok(channel) = std::str::from_utf8(channel)
        {
            self.say(channel, ChannelEvent::Message(message.as_slice().into()));
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
            // One that Redis lets nobody subscribe on is asked for less and less often.
            if begun.elapsed() >= SETTLED {
                rests = pauses();
            }
        }
        if let Some(rest) = rests.next() {
            tokio::time::sleep(rest).await;
        }
    }
}

/// A connection, and whether it is lost.
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
            own.pass_on(&push);
        }
    };
    Ok((connector.connect_and_listen(on_push).await?.0, lost))
}

/// Until the connection is lost, or has many channels that nobody reads any more: these are left out by the next one.
async fn listen((mut connection, lost): Connected, own: &Subscriptions) -> Result<(), StoreError> {
    let mut wanted = own.all();
    while !lost.load(Ordering::SeqCst) && !own.is_over() {
        for some in wanted.chunks(AT_ONCE) {
            subscribe(&mut connection, some).await?;
            // What was published before is for them to find out.
            some.iter().for_each(|channel| own.say(channel, ChannelEvent::Missed));
        }
        tokio::select! {
            () = own.changed.notified() => {}
            () = tokio::time::sleep(BETWEEN_PINGS) => ping(&mut connection).await?,
        }
        wanted = own.take_new();
    }
    Ok(())
}

async fn ping(connection: &mut MultiplexedConnection) -> Result<(), StoreError> {
    let ping = redis::cmd("PING");
    confirmed(Operation::Command(&ping), ping.query_async(connection)).await
}

async fn subscribe(connection: &mut MultiplexedConnection, channels: &[String]) -> Result<(), StoreError> {
    let subscribe = redis::cmd("SUBSCRIBE");
    confirmed(Operation::Command(&subscribe), connection.subscribe(channels)).await
}

/// The reply to `during`, in time.
async fn confirmed(
    during: Operation<'_>,
    reply: impl Future<Output = redis::RedisResult<()>>,
) -> Result<(), StoreError> {
    match tokio::time::timeout(CONFIRMED, reply).await {
        Ok(confirmed) => confirmed.map_err(|error| StoreError::calling(during, error)),
        Err(_) => Err(StoreError::timed_out(during)),
    }
}
