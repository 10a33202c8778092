//! Refunds the pace what it was charged for calls that weren't made.

use std::sync::Arc;
use std::time::Duration;

use dripfeed_store::Script;

use crate::deliver::charge::{Charge, ChargingTake};
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::SHARED;

pub(crate) static SCRIPT: Script = Script::new("refund", SHARED, include_str!("refund.lua"));

impl RedisBucket {
    /// Called once for each charge: if Redis can't be reached, it stays charged.
    pub(super) async fn refund(&self, consumer: &str, charges: Vec<Charge>) {
        let (effective, keys) = (self.effective_settings(), &self.keys);
        if effective.pace.is_none() {
            return;
        }
        self.look_at_clock(&effective).await;
        let (all, plan) = self.pack_pace(&effective, vec![keys.jobs(), keys.pace(), keys.control(), keys.replicas()]);
        let mut call = SCRIPT.on(&all);
        call.arg(&plan[..]).arg(consumer);
        for (take, calls) in by_take(charges) {
            call.arg(&take.server[..]).arg(&take.version).arg(&take.print[..]).arg(take.granted_us);
            call.arg(take.granted_us.saturating_add(us(take.valid))).arg(us(take.asked.elapsed())).arg(calls);
        }
        if let Err(error) = self.store.run::<u64>(&call).await {
            tracing::debug!(bucket = %self.settings().name, %error, "could not refund calls that weren't made");
        }
    }
}

/// The takes, each with the number of its charges.
fn by_take(charges: Vec<Charge>) -> Vec<(Arc<ChargingTake>, usize)> {
    let mut takes: Vec<(Arc<ChargingTake>, usize)> = Vec::new();
    for Charge(take) in charges {
        match takes.iter_mut().find(|(other, _)| Arc::ptr_eq(other, &take)) {
            Some((_, calls)) => *calls += 1,
            None => takes.push((take, 1)),
        }
    }
    takes
}

fn us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
