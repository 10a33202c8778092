use crate::figure::{Figure, Samples};
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::slow_load;

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut ours, mut floor) = (<[Samples; 3]>::default(), <[Samples; 3]>::default());
    for round in 0..bed.volume.rounds {
        for side in Side::in_turn(round) {
            let found = slow_load::measure(bed, side).await?;
            let [middle, high, redis] = if side == Side::Floor { &mut floor } else { &mut ours };
            middle.push(found.latencies.quantile(0.5));
            high.push(found.latencies.quantile(0.99));
            redis.push(found.redis_per_job);
        }
    }
    ["latency-p50", "latency-p99", "latency-redis"]
        .iter()
        .zip(ours.iter().zip(&floor))
        .map(|(name, (ours, floor))| Figure::against(name, ours, floor))
        .collect()
}
