//! Waits for a job to end. The waiting process registers in Redis, and the script that ends the job publishes a message
//! (record.lua). Lost messages are covered by a periodic check, one for all waiting callers.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use dripfeed_job::JobId;
use dripfeed_job::duration::ms_up;
use dripfeed_store::{ChannelEvent, Script, Subscription, restart_on_panic};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use crate::ended::ended_job::{EndedJob, parse};
use crate::error::BucketError;
use crate::script::batches::{Batches, Limits};
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("await_outcome", SHARED, include_str!("await_outcome.lua"));

const LIMITS: Limits = Limits { items: 500, bytes: usize::MAX, calls: 1 };
/// Time between two lookups of one job.
const LOOK: Duration = Duration::from_secs(2);
/// How long a lookup registers the waiting process. Longer than [`LOOK`], because some lookups may fail.
const REGISTERED: Duration = Duration::from_secs(10);

const ENDED: &[u8] = b"ended ";

type Lookups = Batches<JobId, Result<Option<EndedJob>, BucketError>>;

/// The callers of this process that wait for jobs of one bucket.
pub(crate) struct OutcomeWaiters {
    redis_bucket: Arc<RedisBucket>,
    lookups: Lookups,
    waited_jobs: Arc<WaitedJobs>,
}

/// By job: the number of callers that wait for it, and what wakes them.
#[derive(Default)]
struct WaitedJobs {
    waiting: Mutex<HashMap<JobId, (usize, Arc<Notify>)>>,
    /// The task that listens for messages. It is started by the first wait.
    listening: Mutex<Option<AbortOnDropHandle<()>>>,
}

impl OutcomeWaiters {
    pub(crate) fn new(redis_bucket: Arc<RedisBucket>) -> Self {
        let shared = redis_bucket.clone();
        let lookups = Batches::new(
            LIMITS,
            |_| 1,
            move |ids: Vec<JobId>| {
                let redis_bucket = shared.clone();
                async move {
                    match redis_bucket.look_and_register(&ids).await {
                        Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
                        Err(error) => ids.iter().map(|_| Err(error.clone())).collect(),
                    }
                }
            },
        );
        Self { redis_bucket, lookups, waited_jobs: Arc::default() }
    }

    /// Returns `None` if the job hasn't ended within the time.
    pub(crate) async fn wait(&self, id: JobId, within: Duration) -> Result<Option<EndedJob>, BucketError> {
        self.waited_jobs.listen(&self.redis_bucket);
        let guard = self.waited_jobs.enter(id);
        let ended = async {
            loop {
                let mut rings = std::pin::pin!(guard.bell.notified());
                // Enabled before the lookup, so that a job that ends after it wakes this caller.
                rings.as_mut().enable();
                if let Some(ended) = self.lookups.put(id).await.ok_or(BucketError::Closing)?? {
                    return Ok(ended);
                }
                let _ = tokio::time::timeout(LOOK, rings).await;
            }
        };
        tokio::time::timeout(within, ended).await.ok().transpose()
    }
}

/// Counts one waiting caller until it is dropped.
struct WaitGuard<'b> {
    waited_jobs: &'b WaitedJobs,
    id: JobId,
    bell: Arc<Notify>,
}

impl WaitedJobs {
    fn listen(self: &Arc<Self>, redis_bucket: &Arc<RedisBucket>) {
        let mut listening = self.listening.lock();
        listening.get_or_insert_with(|| {
            let (weak, redis_bucket) = (Arc::downgrade(self), Arc::clone(redis_bucket));
            let subscribe = move || redis_bucket.store.subscribe(&redis_bucket.keys.notices());
            let ring = restart_on_panic("waking those who wait for outcomes", move || ring(weak.clone(), subscribe()));
            AbortOnDropHandle::new(tokio::spawn(ring))
        });
    }

    fn enter(&self, id: JobId) -> WaitGuard<'_> {
        let mut waiting = self.waiting.lock();
        let (number, bell) = waiting.entry(id).or_default();
        *number += 1;
        WaitGuard { waited_jobs: self, id, bell: Arc::clone(bell) }
    }

    fn ring(&self, id: JobId) {
        if let Some((_, bell)) = self.waiting.lock().get(&id) {
            bell.notify_waiters();
        }
    }

    fn ring_all(&self) {
        self.waiting.lock().values().for_each(|(_, bell)| bell.notify_waiters());
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        let mut waiting = self.waited_jobs.waiting.lock();
        if let Some((number, _)) = waiting.get_mut(&self.id) {
            *number -= 1;
            if *number == 0 {
                waiting.remove(&self.id);
            }
        }
    }
}

/// Wakes the callers whose jobs have ended, as reported by the messages of the bucket.
async fn ring(waited_jobs: Weak<WaitedJobs>, mut subscription: Subscription) {
    while let Some(event) = subscription.next().await {
        let Some(waited_jobs) = waited_jobs.upgrade() else { return };
        match event {
            ChannelEvent::Missed => waited_jobs.ring_all(),
            ChannelEvent::Message(message) => {
                let ids = message.strip_prefix(ENDED).and_then(|ids| std::str::from_utf8(ids).ok()).unwrap_or_default();
                ids.split(' ').filter_map(|id| id.parse().ok()).for_each(|id| waited_jobs.ring(id));
            }
        }
    }
}

impl RedisBucket {
    async fn look_and_register(&self, ids: &[JobId]) -> Result<Vec<Option<EndedJob>>, BucketError> {
        let mut ended = Vec::with_capacity(ids.len());
        while ended.len() < ids.len() {
            let rest = &ids[ended.len()..];
            let mut call = SCRIPT.on(&[self.keys.outcomes(), self.keys.notices()]);
            call.arg(ms_up(REGISTERED));
            for id in rest {
                call.arg(id.to_string());
            }
            let records: Vec<Vec<u8>> = self.store.run(&call).await?;
            if records.is_empty() {
                let what = "no outcome was looked for".to_owned();
                return Err(BucketError::Reply { script: "await_outcome", what });
            }
            ended.extend(rest.iter().zip(records).map(|(id, record)| parse(*id, &record)));
        }
        Ok(ended)
    }
}
