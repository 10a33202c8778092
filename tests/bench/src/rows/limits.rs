use crate::figure::{Figure, Samples};
use crate::side::{Settings, Side};
use crate::testbed::Testbed;
use crate::trials::{admission, jobs};

const CALLERS: usize = 10_000;

/// Both with keys, so that only the limits differ.
pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut limited, mut free) = (Samples::default(), Samples::default());
    let side = Side::Dripfeed;
    for round in 0..bed.volume.rounds {
        for limits in [round.is_multiple_of(2), !round.is_multiple_of(2)] {
            let settings = Settings { callers: CALLERS, limits, ..Settings::default() };
            let found = admission::measure(bed, side, &settings, |at| jobs::of_callers(side, at, CALLERS)).await?;
            anyhow::ensure!(found.answers.refused == 0, "the limits refused {}", found.answers.refused);
            if limits { &mut limited } else { &mut free }.push(found.answers.accepted_per_s());
        }
    }
    Ok(vec![Figure::against("limits", &limited, &free)?])
}
