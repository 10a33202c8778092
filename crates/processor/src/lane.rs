//! A lane: takes the jobs of one bucket at its pace, and sends each on its journey.
//!
//! pace → take (here) → call → judge → settle (`journey`).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use dripfeed_bucket::{Bucket, Replica, Take};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::connector::{Connector, HttpClient};
use crate::consumer::Name;
use crate::heartbeat;
use crate::journey;
use crate::metrics::LaneMetrics;
use crate::outage::Outage;
use crate::settings::ProcessorSettings;
use crate::upstream::Upstream;

/// For giving back what a drain left, and for leaving: together less than what a service manager gives beyond the drain.
const GIVE_BACK: Duration = Duration::from_millis(1000);
const LEAVE: Duration = Duration::from_millis(500);

/// Being fenced is rare. Should it happen again at once, then not in a hot loop.
const BETWEEN_LIVES: Duration = Duration::from_millis(100);

/// One bucket's way out.
pub(crate) struct Lane {
    bucket: Bucket,
    route: ArcSwap<Route>,
    name: Name,
    settings: ProcessorSettings,
    metrics: LaneMetrics,
    stop: CancellationToken,
    /// The drain is over: what is still under way is given back.
    out_of_time: CancellationToken,
}

/// An upstream with the connections to it.
pub(crate) struct Route {
    upstream: Upstream,
    client: HttpClient,
}

impl Route {
    pub(crate) fn new(connector: &Connector, upstream: Upstream) -> Self {
        Self { client: connector.client(&upstream), upstream }
    }

    pub(crate) const fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    pub(crate) const fn client(&self) -> &HttpClient {
        &self.client
    }
}

/// How a replica's life in a bucket ends.
enum End {
    Fenced,
    Stopped,
}

/// The jobs under way; one slot each, free again when its task has ended, however it ended.
type Journeys = JoinSet<()>;

impl Lane {
    pub(crate) fn new(
        bucket: Bucket,
        route: Route,
        name: Name,
        settings: ProcessorSettings,
        metrics: LaneMetrics,
    ) -> Self {
        let (stop, out_of_time) = (CancellationToken::new(), CancellationToken::new());
        Self { bucket, route: ArcSwap::from_pointee(route), name, settings, metrics, stop, out_of_time }
    }

    pub(crate) const fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    pub(crate) const fn metrics(&self) -> &LaneMetrics {
        &self.metrics
    }

    pub(crate) fn route(&self) -> Arc<Route> {
        self.route.load_full()
    }

    /// Other calls from now on; those under way end as they began.
    pub(crate) fn reroute(&self, route: Route) {
        self.route.store(Arc::new(route));
    }

    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    pub(crate) async fn out_of_time(&self) {
        self.out_of_time.cancelled().await;
    }

    /// Lives, and when declared dead lives anew under another name, until it is stopped and drained.
    pub(crate) async fn run(self: Arc<Self>) {
        let mut journeys = Journeys::new();
        while let Some(replica) = self.join().await {
            let mut beats = pin!(heartbeat::until_fenced(&replica, self.settings.lease, &self.metrics));
            let end = tokio::select! {
                end = self.live(&replica, &mut journeys) => end,
                () = &mut beats => End::Fenced,
            };
            match end {
                End::Stopped => {
                    let mut drained = pin!(self.drain(&mut journeys));
                    tokio::select! {
                        () = &mut drained => {}
                        () = &mut beats => drained.await,
                    }
                    return self.leave(&replica).await;
                }
                // What is under way keeps its slots; its ends will be refused.
                End::Fenced => {
                    let (bucket, consumer) = (self.bucket.name(), replica.consumer());
                    tracing::warn!(%bucket, %consumer, "This replica was declared dead, its jobs are with others; it joins anew");
                }
            }
            self.rest(BETWEEN_LIVES).await;
        }
        self.drain(&mut journeys).await;
    }

    /// None: stopped before it could join.
    async fn join(&self) -> Option<Replica> {
        let mut outage = Outage::none_yet(self.bucket.name().clone(), "join the bucket");
        while !self.is_stopping() {
            match self.bucket.join(self.name.of_a_new_life(), self.settings.lease).await {
                Ok(replica) => {
                    outage.over();
                    let (bucket, consumer) = (self.bucket.name(), replica.consumer());
                    tracing::info!(%bucket, %consumer, "This replica takes jobs");
                    return Some(replica);
                }
                Err(error) => self.rest(outage.failed(&error)).await,
            }
        }
        None
    }

    async fn live(self: &Arc<Self>, replica: &Replica, journeys: &mut Journeys) -> End {
        let mut outage = Outage::none_yet(self.bucket.name().clone(), "take jobs");
        while !self.is_stopping() {
            reap(journeys);
            let slots = usize::try_from(replica.concurrency()).unwrap_or(usize::MAX);
            let free = slots.saturating_sub(journeys.len());
            if free == 0 {
                self.slot(journeys).await;
                continue;
            }
            // A take is never abandoned half-way: jobs could be ours without our knowing.
            match replica.take(free).await {
                Ok(Take::Jobs(jobs)) => {
                    outage.over();
                    for taken in jobs {
                        let (lane, replica) = (Arc::clone(self), replica.clone());
                        journeys.spawn(async move { journey::run(&lane, &replica, taken).await });
                    }
                }
                Ok(Take::Idle(idle)) => {
                    outage.over();
                    tokio::select! {
                        () = replica.wait(&idle) => {}
                        () = self.stop.cancelled() => {}
                    }
                }
                Ok(Take::Fenced) => return End::Fenced,
                Err(error) => self.rest(outage.failed(&error)).await,
            }
        }
        End::Stopped
    }

    async fn slot(&self, journeys: &mut Journeys) {
        tokio::select! {
            ended = journeys.join_next() => if let Some(ended) = ended { tell_panic(ended) },
            () = self.stop.cancelled() => {}
        }
    }

    async fn rest(&self, wait: Duration) {
        tokio::select! {
            () = sleep(wait) => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Lets calls under way end for as long as they may, then gives back what is left.
    async fn drain(&self, journeys: &mut Journeys) {
        if timeout(self.settings.drain, all_ended(journeys)).await.is_ok() {
            return;
        }
        let (bucket, calls) = (self.bucket.name(), journeys.len());
        tracing::warn!(%bucket, calls, "The drain is over; calls still under way are cut and their jobs given back");
        self.out_of_time.cancel();
        if timeout(GIVE_BACK, all_ended(journeys)).await.is_err() {
            // Redis doesn't answer. What wasn't given back is recovered by the others.
            journeys.shutdown().await;
        }
    }

    async fn leave(&self, replica: &Replica) {
        let bucket = self.bucket.name();
        match timeout(LEAVE, replica.leave()).await {
            Ok(Ok(())) => tracing::info!(%bucket, "This replica has left"),
            Ok(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(%bucket, error, "This replica could not take its leave; the others will notice");
            }
            Err(_) => {
                tracing::warn!(%bucket, "Redis does not answer; the others will notice that this replica is gone");
            }
        }
    }
}

fn reap(journeys: &mut Journeys) {
    while let Some(ended) = journeys.try_join_next() {
        tell_panic(ended);
    }
}

async fn all_ended(journeys: &mut Journeys) {
    while let Some(ended) = journeys.join_next().await {
        tell_panic(ended);
    }
}

/// A journey that panics outside its call leaves its job with this replica, to be recovered when it leaves.
fn tell_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!("A job's task panicked: a bug, please report it");
    }
}
