use std::time::Duration;

use crate::figure::{Figure, Samples};
use crate::settings::Settings;
use crate::side::Side;
use crate::testbed::Testbed;
use crate::trials::{admission, jobs};
use crate::upstream::Detail;

/// More rounds, to measure a difference of a few percent.
const TIMES_THE_ROUNDS: usize = 2;
/// Timeout for the first spans to be exported.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn measure(bed: &Testbed) -> anyhow::Result<Vec<Figure>> {
    let (mut on, mut off) = (Samples::default(), Samples::default());
    for round in 0..bed.volume.rounds * TIMES_THE_ROUNDS {
        let in_turn = if round.is_multiple_of(2) { [false, true] } else { [true, false] };
        for traces in in_turn {
            let samples = if traces { &mut on } else { &mut off };
            samples.push(accepted_per_s(bed, traces).await?);
        }
    }
    Ok(vec![Figure::against("traces", &on, &off)?])
}

async fn accepted_per_s(bed: &Testbed, traces: bool) -> anyhow::Result<f64> {
    let settings = Settings { traces, ..Settings::default() };
    bed.upstream.note(Detail::Counts, u64::MAX);
    let found =
        admission::measure(bed, Side::Dripfeed, &settings, |at| jobs::single(Side::Dripfeed, at, jobs::BYTES)).await?;
    // No processor runs, so all calls are exports of spans.
    if traces {
        bed.upstream.noted(1, PATIENCE).await?;
    } else {
        anyhow::ensure!(bed.upstream.so_far().calls == 0, "spans came, though traces are off");
    }
    Ok(found.answers.accepted_per_s())
}
