//! Reads the state of all buckets once a second, while it is needed.

mod reading;

use std::sync::{Arc, Weak};
use std::time::Duration;

use dripfeed_bucket::Buckets;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::task::AbortOnDropHandle;

pub(crate) use self::reading::Reading;

const INTERVAL: Duration = Duration::from_secs(1);

/// Shares one reader between all observers.
pub(crate) struct Readings {
    buckets: Arc<Buckets>,
    reader: Mutex<Weak<Reader>>,
}

/// Reads until the last observer is dropped.
struct Reader {
    latest: watch::Receiver<Option<Arc<Reading>>>,
    _task: AbortOnDropHandle<()>,
}

/// Receives the readings.
pub(crate) struct ReadingsObserver {
    latest: watch::Receiver<Option<Arc<Reading>>>,
    _reader: Arc<Reader>,
}

impl Readings {
    pub(crate) fn new(buckets: Arc<Buckets>) -> Self {
        Self { buckets, reader: Mutex::default() }
    }

    pub(crate) fn observe(&self) -> ReadingsObserver {
        let mut shared = self.reader.lock();
        let reader = shared.upgrade().unwrap_or_else(|| {
            let reader = Arc::new(Reader::start(Arc::clone(&self.buckets)));
            *shared = Arc::downgrade(&reader);
            reader
        });
        let mut latest = reader.latest.clone();
        // So a new observer gets the latest reading at once.
        latest.mark_changed();
        ReadingsObserver { latest, _reader: reader }
    }
}

impl Reader {
    fn start(buckets: Arc<Buckets>) -> Self {
        let (publish, latest) = watch::channel(None);
        let task = tokio::spawn(async move {
            let mut ticks = interval(INTERVAL);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                publish.send_replace(Some(Arc::new(Reading::of(&buckets).await)));
            }
        });
        Self { latest, _task: AbortOnDropHandle::new(task) }
    }
}

impl ReadingsObserver {
    /// Waits for the next reading. Returns `None` if the reader has ended.
    pub(crate) async fn next(&mut self) -> Option<Arc<Reading>> {
        loop {
            self.latest.changed().await.ok()?;
            let reading = self.latest.borrow_and_update().clone();
            if reading.is_some() {
                return reading;
            }
        }
    }
}
