use crate::figure::{Figure, Samples};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::{admission, jobs};

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut ours, mut floor) = (<[Samples; 3]>::default(), <[Samples; 3]>::default());
    for round in 0..bed.volume.rounds {
        for side in Side::in_turn(round) {
            let settings = Settings::default();
            let found = admission::measure(bed, side, &settings, |at| jobs::single(side, at, jobs::BYTES)).await?;
            let [accepted, intake, load] = if side == Side::Floor { &mut floor } else { &mut ours };
            accepted.push(found.answers.accepted_per_s());
            intake.push(found.intake_per_job());
            load.push(found.load_busy);
        }
    }
    ["accepted", "accepted-intake", "accepted-load"]
        .iter()
        .zip(ours.iter().zip(&floor))
        .map(|(name, (ours, floor))| Figure::against(name, ours, floor))
        .collect()
}
