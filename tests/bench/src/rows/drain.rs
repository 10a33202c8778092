use crate::figure::{Figure, Samples};
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::{drain, jobs};

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut ours, mut floor) = (<[Samples; 2]>::default(), <[Samples; 2]>::default());
    for round in 0..bed.volume.rounds {
        for side in Side::in_turn(round) {
            let found = drain::measure(bed, side, bed.volume.jobs, jobs::BYTES).await?;
            let [rate, processor] = if side == Side::Floor { &mut floor } else { &mut ours };
            rate.push(found.per_s());
            processor.push(found.processor_per_job());
        }
    }
    let [ours, floor] = [&ours, &floor];
    Ok(vec![Figure::against("drain", &ours[0], &floor[0])?, Figure::against("drain-processor", &ours[1], &floor[1])?])
}
