use crate::figure::{Figure, Samples};
use crate::load::{self, End};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::jobs;

const CAPACITY: u64 = 1000;

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut ours, mut floor) = (Samples::default(), Samples::default());
    for round in 0..bed.volume.rounds {
        for side in Side::in_turn(round) {
            let refused = refused_per_s(bed, side).await?;
            if side == Side::Floor { &mut floor } else { &mut ours }.push(refused);
        }
    }
    Ok(vec![Figure::against("refused", &ours, &floor)?])
}

pub(super) async fn refused_per_s(bed: &Testbed, side: Side) -> anyhow::Result<f64> {
    bed.redis.empty().await?;
    let intake = bed.intake(side, &Settings { capacity: CAPACITY, ..Settings::default() }).await?;
    jobs::fill(bed, side, &intake, CAPACITY, jobs::BYTES).await?;
    let address = intake.address()?;
    let requests = jobs::single(side, address, jobs::BYTES);
    load::run(address, &requests, End::After(bed.volume.window / 4)).await?;
    let answers = load::run(address, &requests, End::After(bed.volume.window)).await?;
    anyhow::ensure!(answers.accepted == 0, "{} POSTs were accepted beyond the capacity", answers.accepted);
    intake.stop().await?;
    Ok(answers.refused_per_s())
}
