use std::time::Duration;

use crate::figure::{Figure, Samples, count};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;

/// Further buckets besides that of all rows.
const OTHERS: usize = 999;
/// Time after the start until all lanes are on standby.
const SETTLE: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Found {
    connections: Samples,
    processor: Samples,
    redis: Samples,
}

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut one, mut many, mut added) = (Found::default(), Found::default(), Samples::default());
    for _ in 0..bed.volume.rounds {
        let before = measure_with(bed, 0, &mut one).await?;
        added.push(measure_with(bed, OTHERS, &mut many).await? - before);
    }
    Ok(vec![
        Figure::alone("many-connections", &many.connections)?,
        Figure::alone("many-processor", &many.processor)?,
        Figure::alone("many-redis", &many.redis)?,
        Figure::alone("many-redis-one", &one.redis)?,
        Figure::alone("many-memory", &added)?,
    ])
}

/// The memory of the processor.
async fn measure_with(bed: &Testbed, others: usize, found: &mut Found) -> anyhow::Result<f64> {
    bed.redis.empty().await?;
    // The connections of this program.
    let before = connections(bed).await?;
    let processor = bed.processor(Side::Dripfeed, &Settings { others, ..Settings::default() }).await?;
    tokio::time::sleep(SETTLE).await;
    let (begun, busy) = (bed.redis.begin().await?, processor.busy()?);
    tokio::time::sleep(bed.volume.idle).await;
    let share = |busy: Duration| busy.as_secs_f64() / bed.volume.idle.as_secs_f64() * 100.0;
    found.redis.push(share(bed.redis.work(begun, &[]).await?.cpu));
    found.processor.push(share(processor.busy()?.saturating_sub(busy)));
    found.connections.push(count(connections(bed).await?.saturating_sub(before)));
    let memory = processor.memory("VmRSS:")?;
    processor.stop().await?;
    Ok(memory)
}

async fn connections(bed: &Testbed) -> anyhow::Result<usize> {
    Ok(bed.redis.ask::<String>(&["CLIENT", "LIST"]).await?.lines().count())
}
