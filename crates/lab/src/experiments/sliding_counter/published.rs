//! A counter for each window. A gateway reads that of this window and the one before, weighs, and adds when the call
//! passes: what others add between its looking and its adding, it doesn't see.

use std::time::Instant;

use dripfeed_store::Store;
use redis::cmd;

use super::{LIMIT, WINDOW};
use crate::error::LabError;
use crate::results::Figure as _;
use crate::testbed::Testbed;

/// Returns the weighted calls of the previous window plus those of this one, rounded down.
pub(super) fn estimate(before: u64, now: u64, into: f64) -> f64 {
    ((1.0 - into) * before.figure() + now.figure()).floor()
}

/// Returns the number of further calls until one is refused.
pub(super) fn more(before: u64, now: u64, into: f64, limit: u64) -> u64 {
    let mut more = 0;
    while estimate(before, now + more, into) < limit.figure() {
        more += 1;
    }
    more
}

pub(super) async fn ask(testbed: &Testbed, store: &Store) -> Result<bool, LabError> {
    let window = i64::try_from(WINDOW.as_micros()).unwrap_or(1);
    let now = testbed.clock().us(Instant::now());
    let number = now.div_euclid(window);
    let key = |number: i64| testbed.key(&format!("sliding:{number}"));
    let current: Option<u64> = store.command(cmd("GET").arg(key(number))).await?;
    let before: Option<u64> = store.command(cmd("GET").arg(key(number - 1))).await?;
    let into = u64::try_from(now.rem_euclid(window)).unwrap_or(0).figure()
        / WINDOW.as_micros().try_into().unwrap_or(1_u64).figure();
    if estimate(before.unwrap_or(0), current.unwrap_or(0), into) >= LIMIT.figure() {
        return Ok(false);
    }
    store.command::<u64>(cmd("INCR").arg(key(number))).await?;
    store.command::<bool>(cmd("PEXPIRE").arg(key(number)).arg((2 * WINDOW).as_millis().to_string())).await?;
    Ok(true)
}
