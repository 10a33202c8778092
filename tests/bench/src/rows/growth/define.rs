use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::future::try_join_all;
use serde_json::Value;

use crate::client::{Connection, fetch, put};
use crate::figure::{Figure, Samples, count};
use crate::role::Role;
use crate::settings::Settings;
use crate::side::{Side, other_bucket};
use crate::testbed::Testbed;

const BUCKETS: usize = 1000;
const INTAKES: usize = 3;
const AGREE: Duration = Duration::from_secs(1);

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut times, mut missing) = (Samples::default(), Samples::default());
    for _ in 0..bed.volume.rounds {
        bed.redis.empty().await?;
        let upstream = bed.upstream.url();
        let more = format!("[define]\nupstreams = [\"{}\"]\nallow_private = true\n", upstream.trim_end_matches('/'));
        let settings = Settings { more, ..Settings::default() };
        let intakes = try_join_all((0..INTAKES).map(|_| bed.intake(Side::Dripfeed, &settings))).await?;
        let addresses: Vec<SocketAddr> = intakes.iter().map(Role::address).collect::<Result<_, _>>()?;
        times.push(create(*addresses.first().context("no intake")?, &upstream).await?);
        tokio::time::sleep(AGREE).await;
        let known = try_join_all(addresses.into_iter().map(known)).await?;
        missing.push(count(known.into_iter().map(|known| BUCKETS.saturating_sub(known)).sum()));
        for intake in intakes {
            intake.stop().await?;
        }
    }
    Ok(vec![Figure::alone("define", &times)?, Figure::alone("define-missing", &missing)?])
}

/// Creates the buckets one after the other, on one connection. Returns the time in seconds.
async fn create(address: SocketAddr, upstream: &str) -> anyhow::Result<f64> {
    let mut connection = Connection::open(address).await?;
    let definition = format!("{{\"upstream\":\"{upstream}\"}}");
    let begun = Instant::now();
    for number in 0..BUCKETS {
        let path = format!("/v1/buckets/{}", other_bucket(number));
        let status = connection.exchange(&put(address, &path, &definition)).await?;
        anyhow::ensure!([200, 201].contains(&status), "a bucket is answered with {status}");
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// How many of them an intake lists. Requesting one by name would make the intake read it from Redis.
async fn known(address: SocketAddr) -> anyhow::Result<usize> {
    let (mut names, mut path) = (BTreeSet::new(), "/v1/buckets".to_owned());
    loop {
        let page: Value = serde_json::from_slice(&fetch(address, &path).await?)?;
        let items = page["items"].as_array().context("a list of buckets")?;
        names.extend(items.iter().filter_map(|item| item["name"].as_str().map(str::to_owned)));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/buckets?cursor={next}");
    }
    Ok((0..BUCKETS).filter(|number| names.contains(other_bucket(*number).as_str())).count())
}
