//! Each instance counts on its own. Every second it adds, for each tenant, what it has counted to a counter in Redis,
//! and learns what all have: one call per tenant, endpoint, instance and second.

use std::collections::HashMap;
use std::pin::pin;

use dripfeed_store::Store;
use futures::future::{Either, select, select_all};
use parking_lot::Mutex;
use redis::cmd;
use tokio::time::interval;

use super::load::{self, INSTANCES};
use super::{Run, SYNC, THRESHOLD};
use crate::commands::CommandStats;
use crate::error::LabError;
use crate::testbed::Testbed;

#[derive(Clone, Copy, Default)]
struct Count {
    /// The count of all instances, as last read.
    known: u64,
    /// The count of this instance since then.
    untold: u64,
}

#[derive(Default)]
struct Instance(Mutex<HashMap<String, Count>>);

impl Instance {
    fn ask(&self, tenant: &str) -> bool {
        let mut counts = self.0.lock();
        let count = counts.entry(tenant.to_owned()).or_default();
        let passes = count.known + count.untold < THRESHOLD;
        count.untold += u64::from(passes);
        passes
    }

    /// Reports periodically, until that fails.
    async fn keep_telling(&self, testbed: &Testbed, store: &Store) -> LabError {
        let mut syncs = interval(SYNC);
        loop {
            syncs.tick().await;
            if let Err(error) = self.tell(testbed, store).await {
                return error;
            }
        }
    }

    async fn tell(&self, testbed: &Testbed, store: &Store) -> Result<(), LabError> {
        let tenants: Vec<String> = self.0.lock().keys().cloned().collect();
        for tenant in tenants {
            let untold = self.0.lock().get(&tenant).map_or(0, |count| count.untold);
            let key = testbed.key(&format!("level:{tenant}"));
            let known = store.command(cmd("INCRBY").arg(&key).arg(untold)).await?;
            if let Some(count) = self.0.lock().get_mut(&tenant) {
                *count = Count { known, untold: count.untold - untold };
            }
        }
        Ok(())
    }
}

pub(super) async fn run(testbed: &Testbed) -> Result<Run, LabError> {
    let instances: Vec<Instance> = (0..INSTANCES).map(|_| Instance::default()).collect();
    let store = &testbed.connect().await?;
    let before = CommandStats::so_far(store).await?;
    let telling = select_all(instances.iter().map(|instance| Box::pin(instance.keep_telling(testbed, store))));
    let asking = load::run(testbed, async |instance, tenant| Ok(instances[instance].ask(tenant)));
    let load = match select(pin!(asking), pin!(telling)).await {
        Either::Left((load, _)) => load?,
        Either::Right(((error, _, _), _)) => return Err(error),
    };
    let redis = CommandStats::so_far(store).await?.since(&before, &["incrby"]);
    Ok(Run { load, redis })
}
