//! Continues background replays whose intake has died.

use std::convert::Infallible;
use std::time::Duration;

use dripfeed_bucket::{Bucket, Buckets};

use super::upkeep::Upkeep;

const EVERY: Duration = Duration::from_secs(3);

pub(super) async fn go_on(buckets: &Buckets) -> Infallible {
    // A look is one short command.
    let mut upkeep = Upkeep::new("could not read background replays from Redis", usize::MAX);
    loop {
        tokio::time::sleep(EVERY).await;
        Box::pin(upkeep.round(buckets, Bucket::go_on_with_replays, |_, ()| {})).await;
    }
}
