//! A lane: takes the jobs of one bucket at its pace, and sends each on its journey.
//!
//! pace → take (here) → call → judge → settle (`journey`).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{Bucket, Life, Replica, Take};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};

use crate::consumer::Name;
use crate::course::Course;
use crate::heartbeat;
use crate::journey;
use crate::outage::Outage;
use crate::settings::ProcessorSettings;

/// For giving back what a drain left, and for leaving: together less than what a service manager gives beyond the drain.
const GIVE_BACK: Duration = Duration::from_millis(1000);
const LEAVE: Duration = Duration::from_millis(500);

/// Being fenced is rare. Should it happen again at once, then not in a hot loop.
const BETWEEN_LIVES: Duration = Duration::from_millis(100);

/// With all slots taken nothing is taken, so nothing is heard of changes: then they are asked for, taking nothing.
const LOOK: Duration = Duration::from_secs(1);

/// One bucket's way out.
pub(crate) struct Lane {
    course: Arc<Course>,
    name: Name,
    settings: ProcessorSettings,
}

/// How a replica's life in a bucket ends.
enum End {
    Fenced,
    Stopped,
}

/// The jobs under way; one slot each, free again when its task has ended, however it ended.
type Journeys = JoinSet<()>;

impl Lane {
    pub(crate) const fn new(course: Arc<Course>, name: Name, settings: ProcessorSettings) -> Self {
        Self { course, name, settings }
    }

    pub(crate) fn bucket(&self) -> &Bucket {
        self.course.bucket()
    }

    /// Lives, and when declared dead lives anew under another name, until it is stopped and drained.
    pub(crate) async fn run(&self) {
        let mut journeys = Journeys::new();
        let mut life = Life::First;
        while let Some(replica) = self.join(life).await {
            life = Life::Again;
            let mut beats = pin!(heartbeat::until_fenced(&replica, self.bucket().name(), self.course.metrics()));
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
                    let (bucket, consumer) = (self.bucket().name(), replica.consumer());
                    tracing::warn!(%bucket, %consumer, "This replica was declared dead, its jobs are with others; it joins anew");
                }
            }
            self.rest(BETWEEN_LIVES).await;
        }
        self.drain(&mut journeys).await;
    }

    /// None: stopped before it could join.
    async fn join(&self, life: Life) -> Option<Replica> {
        let mut outage = Outage::none_yet(self.bucket().name().clone(), "join the bucket");
        while !self.course.is_stopping() {
            match self.bucket().join(self.name.of_a_new_life(), self.settings.lease, life).await {
                Ok(replica) => {
                    outage.over();
                    let (bucket, consumer) = (self.bucket().name(), replica.consumer());
                    tracing::info!(%bucket, %consumer, "This replica takes jobs");
                    return Some(replica);
                }
                Err(error) => self.rest(outage.failed(&error)).await,
            }
        }
        None
    }

    async fn live(&self, replica: &Replica, journeys: &mut Journeys) -> End {
        let mut outage = Outage::none_yet(self.bucket().name().clone(), "take jobs");
        loop {
            self.slot(replica, journeys).await;
            if self.course.is_stopping() {
                return End::Stopped;
            }
            // A take is never abandoned half-way: jobs could be ours without our knowing.
            let take = replica.take(free_slots(replica, journeys)).await;
            self.course.metrics().expired(replica.expired());
            match take {
                Ok(Take::Jobs(jobs)) => {
                    outage.over();
                    for taken in jobs {
                        let (course, replica) = (Arc::clone(&self.course), replica.clone());
                        journeys.spawn(async move { journey::run(&course, &replica, taken).await });
                    }
                }
                Ok(Take::Idle(idle)) => {
                    outage.over();
                    tokio::select! {
                        () = replica.wait(&idle) => {}
                        () = self.course.stopping() => {}
                    }
                }
                Ok(Take::Fenced) => return End::Fenced,
                Err(error) => self.rest(outage.failed(&error)).await,
            }
        }
    }

    /// Until a slot is free, or it is time to ask whether there are more of them now.
    async fn slot(&self, replica: &Replica, journeys: &mut Journeys) {
        reap(journeys);
        if free_slots(replica, journeys) > 0 {
            return;
        }
        tokio::select! {
            ended = journeys.join_next() => if let Some(ended) = ended { tell_panic(ended) },
            () = self.rest(LOOK) => {}
        }
    }

    async fn rest(&self, wait: Duration) {
        tokio::select! {
            () = sleep(wait) => {}
            () = self.course.stopping() => {}
        }
    }

    /// Lets calls under way end for as long as they may, then gives back what is left.
    async fn drain(&self, journeys: &mut Journeys) {
        if timeout(self.settings.drain, all_ended(journeys)).await.is_ok() {
            return;
        }
        let (bucket, calls) = (self.bucket().name(), journeys.len());
        tracing::warn!(%bucket, calls, "The drain is over; calls still under way are cut and their jobs given back");
        self.course.end();
        if timeout(GIVE_BACK, all_ended(journeys)).await.is_err() {
            // Redis doesn't answer. What wasn't given back is recovered by the others.
            journeys.shutdown().await;
        }
    }

    async fn leave(&self, replica: &Replica) {
        let bucket = self.bucket().name();
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

fn free_slots(replica: &Replica, journeys: &Journeys) -> usize {
    usize::try_from(replica.concurrency()).unwrap_or(usize::MAX).saturating_sub(journeys.len())
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
