use crate::figure::{Figure, Samples};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::{admission, jobs};

const CALLERS: usize = 10_000;

/// The same requests each time.
pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let [mut limited, mut keyed, mut free] = <[Samples; 3]>::default();
    for _ in 0..bed.volume.rounds {
        limited.push(accepted_per_s(bed, Settings { limits: true, ..Settings::default() }).await?);
        free.push(accepted_per_s(bed, Settings::default()).await?);
        keyed.push(accepted_per_s(bed, Settings { keys: CALLERS, ..Settings::default() }).await?);
    }
    Ok(vec![Figure::against("limits", &limited, &free)?, Figure::against("limits-keys", &keyed, &free)?])
}

async fn accepted_per_s(bed: &Testbed, settings: Settings) -> anyhow::Result<f64> {
    let requests = |at| jobs::of_callers(at, 0..CALLERS);
    let answers = admission::measure(bed, Side::Dripfeed, &settings, requests).await?.answers;
    anyhow::ensure!(answers.refused == 0, "the limits refused {}", answers.refused);
    Ok(answers.accepted_per_s())
}
