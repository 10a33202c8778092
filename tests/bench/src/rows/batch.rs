use crate::figure::{Figure, Samples};
use crate::load::number;
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::{admission, jobs};

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut batches, mut singles) = (Samples::default(), Samples::default());
    let settings = Settings::default();
    for _ in 0..bed.volume.rounds {
        let found = admission::measure(bed, Side::Dripfeed, &settings, |at| jobs::batch(at, jobs::BYTES)).await?;
        batches.push(found.answers.accepted_per_s() * number(jobs::BATCH));
        let single = |at| jobs::single(Side::Dripfeed, at, jobs::BYTES);
        singles.push(admission::measure(bed, Side::Dripfeed, &settings, single).await?.answers.accepted_per_s());
    }
    Ok(vec![Figure::against("batch", &batches, &singles)?])
}
