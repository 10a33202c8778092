use crate::figure::{Figure, Samples};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::{admission, drain, jobs};

const CALLERS: usize = 10_000;

#[derive(Default)]
struct Found {
    inwards: Samples,
    outwards: Samples,
    both: Samples,
    cpu: Samples,
    longest: Samples,
    /// With a limit; of the floor, which has none, without.
    with_limits: Samples,
}

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut ours, mut floor) = (Found::default(), Found::default());
    for round in 0..bed.volume.rounds {
        for side in Side::in_turn(round) {
            measure_side(bed, side, if side == Side::Floor { &mut floor } else { &mut ours }).await?;
        }
    }
    Ok(vec![
        Figure::against("redis", &ours.both, &floor.both)?,
        Figure::against("redis-in", &ours.inwards, &floor.inwards)?,
        Figure::against("redis-out", &ours.outwards, &floor.outwards)?,
        Figure::against("redis-cpu", &ours.cpu, &floor.cpu)?,
        Figure::against("redis-limits", &ours.with_limits, &floor.with_limits)?,
        Figure::against("redis-longest", &ours.longest, &floor.longest)?,
    ])
}

async fn measure_side(bed: &Testbed, side: Side, found: &mut Found) -> anyhow::Result<()> {
    let settings = Settings::default();
    let inwards = admission::measure(bed, side, &settings, |at| jobs::single(side, at, jobs::BYTES)).await?;
    let outwards = drain::measure(bed, side, bed.volume.jobs, jobs::BYTES).await?;
    let (in_us, out_us) = (inwards.redis_per_job(), outwards.redis_per_job());
    let limited = match side {
        Side::Floor | Side::Bullmq => in_us,
        Side::Dripfeed => {
            let settings = Settings { limits: true, ..Settings::default() };
            admission::measure(bed, side, &settings, |at| jobs::of_callers(at, 0..CALLERS)).await?.redis_per_job()
        }
    };
    found.inwards.push(in_us);
    found.outwards.push(out_us);
    found.both.push(in_us + out_us);
    found.cpu.push(inwards.redis_cpu_per_job() + outwards.redis_cpu_per_job());
    found.longest.push(inwards.longest_script.max(outwards.longest_script));
    found.with_limits.push(limited + out_us);
    Ok(())
}
