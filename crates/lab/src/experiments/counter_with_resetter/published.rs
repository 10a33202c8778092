//! Every worker adds to one counter before it calls; who gets a number above the limit tries again. A leader sets the
//! counter to zero when its timer says so, whatever is on its way.

use std::time::Duration;

use dripfeed_store::Store;
use redis::cmd;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at, sleep};

use super::{IN_FLIGHT, LIMIT, LOAD, PERIOD, UPSTREAM, WORKERS};
use crate::call_log::PassedCalls;
use crate::error::LabError;
use crate::testbed::Testbed;
use crate::upstream::Upstream;

const BEFORE_THE_NEXT_TRY: Duration = Duration::from_millis(20);

pub(super) async fn run(testbed: &Testbed) -> Result<PassedCalls, LabError> {
    let (upstream, counter) = (Upstream::new(UPSTREAM), testbed.key("counter"));
    let until = Instant::now() + LOAD + PERIOD;
    let mut tasks = JoinSet::new();
    let leader = testbed.connect().await?;
    reset(&leader, &counter).await?;
    tasks.spawn(lead(leader, counter.clone(), until));
    for _ in 0..WORKERS {
        let store = testbed.connect().await?;
        for _ in 0..IN_FLIGHT {
            tasks.spawn(work(store.clone(), counter.clone(), upstream.clone(), until));
        }
    }
    for ended in tasks.join_all().await {
        ended?;
    }
    Ok(upstream.passes())
}

async fn lead(store: Store, counter: String, until: Instant) -> Result<(), LabError> {
    let mut periods = interval_at(Instant::now() + PERIOD, PERIOD);
    while Instant::now() < until {
        periods.tick().await;
        reset(&store, &counter).await?;
    }
    Ok(())
}

async fn reset(store: &Store, counter: &str) -> Result<(), LabError> {
    Ok(store.command(cmd("SET").arg(counter).arg(0)).await?)
}

async fn work(store: Store, counter: String, upstream: Upstream, until: Instant) -> Result<(), LabError> {
    while Instant::now() < until {
        let count: u64 = store.command(cmd("INCR").arg(&counter)).await?;
        if count <= LIMIT { upstream.call().await } else { sleep(BEFORE_THE_NEXT_TRY).await }
    }
    Ok(())
}
