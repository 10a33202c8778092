use dripfeed_store::AppendFsync;

use crate::figure::{Figure, Samples};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::{admission, jobs};

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut always, mut everysec) = (Samples::default(), Samples::default());
    for _ in 0..bed.volume.rounds {
        always.push(accepted_per_s(bed, AppendFsync::Always, "fsync").await?);
        everysec.push(accepted_per_s(bed, AppendFsync::Everysec, "everysec").await?);
    }
    Ok(vec![Figure::against("fsync", &always, &everysec)?])
}

async fn accepted_per_s(bed: &Testbed, append: AppendFsync, durability: &'static str) -> anyhow::Result<f64> {
    let bed = Testbed::durable(bed.volume, append).await?;
    let (side, settings) = (Side::Dripfeed, Settings { durability, ..Settings::default() });
    let found = admission::measure(&bed, side, &settings, |at| jobs::single(side, at, jobs::BYTES)).await?;
    Ok(found.answers.accepted_per_s())
}
