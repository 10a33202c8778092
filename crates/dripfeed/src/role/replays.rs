//! Continues background replays whose intake has died.

use std::convert::Infallible;
use std::time::Duration;

use dripfeed_bucket::{Bucket, Buckets};

use super::upkeep;

const EVERY: Duration = Duration::from_secs(3);

pub(super) async fn go_on(buckets: &Buckets) -> Infallible {
    loop {
        tokio::time::sleep(EVERY).await;
        upkeep::for_each(buckets, "could not read background replays from Redis", Bucket::go_on_with_replays).await;
    }
}
